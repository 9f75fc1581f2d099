"""Questions to a GDB about a rank, which change nothing there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.session.gdb import GdbProcess
from rdb.session.mi import quote
from rdb.session.stacks import Frame, parse_frames


class Fields(NamedTuple):
    """The members of a value, `.flow[2]` -> `0.5`, in their order; of a plain value one named "".
    `missing`: why others have no value."""

    values: Mapping[str, str]
    missing: Mapping[str, str]
    variables: str
    bound: str
    """As in Number."""


class Number(NamedTuple):
    """The text that GDB prints for an expression, and its value; None: it is no number."""

    text: str
    value: float | None
    variables: str
    """The variables that the names mean, if they are not those of the selected frame."""
    bound: str
    """All of them: the same text in each rank in which they are the same."""


class Looking:
    """A GDB in a rank."""

    def __init__(self, gdb: GdbProcess) -> None:
        self.gdb = gdb

    async def frames(self, limit: int | None = None) -> list[Frame]:
        """The backtrace, innermost frame first."""
        span = "" if limit is None else f" 0 {limit - 1}"
        answer = await self.gdb.mi(f"-stack-list-frames{span}")
        if answer.error is not None:
            raise RdbError(answer.error)
        return parse_frames(answer.payload)

    async def value(self, expression: str, format_: str = "") -> str:
        """The text that GDB prints, without an entry in the value history.  FORMAT_: `/x`."""
        return await self._said(f"rdb-meant output{format_} {expression}")

    async def number(self, expression: str, condition: bool = False) -> Number:
        """The number that an expression is; CONDITION: raises RdbError for a constant."""
        option = "--condition " if condition else ""
        line = (await self._said(f"rdb-number {option}{expression}")).splitlines()[-1]
        text, value, *variables = json.loads(line)
        return Number(str(text), None if value is None else float(value), *map(str, variables))

    async def fields(self, expression: str) -> Fields:
        line = (await self._said(f"rdb-fields {expression}")).splitlines()[-1]
        rows, *variables = json.loads(line)
        return Fields(
            {str(name): str(value) for name, value, *_ in rows if value is not None},
            {
                str(name): str(reason)
                for name, value, *why in rows
                if value is None
                for reason in why
            },
            *map(str, variables),
        )

    async def complete(self, text: str) -> list[str]:
        """GDB's completions of TEXT, as whole lines."""
        answer = await self.gdb.mi(f"-complete {quote(text)}", timeout_s=2.0)
        payload = answer.payload if isinstance(answer.payload, dict) else {}
        return [str(match) for match in payload.get("matches", [])]

    async def _said(self, command: str) -> str:
        answer = await self.gdb.execute(command)
        if answer.error is not None:
            raise RdbError(answer.error)
        return answer.text
