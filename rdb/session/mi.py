"""Syntax of GDB's machine interface (GDB manual, chapter "The GDB/MI Interface").

Output is parsed by pygdbmi.  Its controller is not used, because it ends a read by timeout instead
of by the token of the command.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, cast

from pygdbmi import gdbmiparser

from rdb.errors import RdbError

Kind = Literal["result", "notify", "console", "log", "target", "output", "done"]


class MiLine(NamedTuple):
    """One line that GDB wrote."""

    kind: Kind
    message: str | None
    payload: Any
    token: int | None


def parse_line(text: str) -> MiLine:
    record: dict[str, Any] = gdbmiparser.parse_response(text)
    token = record.get("token")
    return MiLine(
        kind=cast(Kind, record["type"]),
        message=record.get("message"),
        payload=record.get("payload"),
        token=None if token is None else int(token),
    )


def quote(text: str) -> str:
    """TEXT as an MI c-string (GDB manual, "GDB/MI Input Syntax")."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped.replace(chr(9), chr(92) + "t")}"'


def console_command(command: str) -> str:
    """The MI command that runs one CLI command."""
    return f"-interpreter-exec console {quote(command)}"


def json_answer(command: str, text: str) -> dict[str, Any]:
    """The line of JSON that a COMMAND of our extension prints, among other output of GDB.

    Raises RdbError if there is none.
    """
    line = next((line for line in text.splitlines() if line.startswith("{")), None)
    if line is None:
        raise RdbError(f"{command} answered {text!r}")
    answer: dict[str, Any] = json.loads(line)
    return answer
