"""output: the program's output up to the position."""

from __future__ import annotations

import re
from typing import Any

import gdb

from .. import link
from ..search import searching
from ..values import predicates
from .command import Command, command

_NAMES = {1: "", 2: " (stderr)"}


@command("output", gdb.COMMAND_DATA)
class Output(Command):
    """Print what the program had written up to here, with the event of each line: output
    A replay writes nothing again; this is what was recorded.  `goto EVENT` goes to where the line
    was written.  --fd N shows that descriptor instead of standard output and error, --all every
    one, --since POSITION only what was written after it, --raw the bytes alone.
    With an expression it is GDB's own command: print it without newline (output/FMT EXP)."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        usage = "output [--fd N|--all] [--since POSITION] [--raw]"
        text = argument.strip()
        if text and not text.startswith("--"):
            gdb.write(formatted(text))
            gdb.flush()  # no newline flushes the output
            return
        options = searching.Options(argument, usage, "--all --raw", "--fd --since")
        if options.text:
            raise gdb.GdbError(options.usage)
        link.connection()
        fds = (int(options.given["--fd"]),) if options.given.get("--fd", "").isdigit() else (1, 2)
        if "--fd" in options and not options.given["--fd"].isdigit():
            raise gdb.GdbError(options.usage)
        answer = searching.ask("output", since=options.event("--since"))
        parts = [one for one in answer["output"] if "--all" in options or one["fd"] in fds]
        if "--raw" in options:
            for part in parts:
                gdb.write(bytes.fromhex(part["data"]).decode("utf-8", "replace"))
            gdb.flush()  # the last line may have no newline
        else:
            gdb.write(listing(lines(parts)))
        if answer["interrupted"]:
            gdb.write(f"{searching.INTERRUPTED}\n")


def lines(parts: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    """(event, descriptor, text) of each line, in the order in which they began."""
    found: list[list[Any]] = []
    unfinished: dict[int, list[Any]] = {}
    for part in parts:
        event, fd = part["event"], part["fd"]
        for piece in bytes.fromhex(part["data"]).splitlines(keepends=True):
            line = unfinished.pop(fd, None)
            if line is None:
                line = [event, fd, b""]
                found.append(line)
            line[2] += piece
            if not piece.endswith((b"\n", b"\r")):
                unfinished[fd] = line
    return [(event, fd, data.decode("utf-8", "replace")) for event, fd, data in found]


def listing(found: list[tuple[int, int, str]]) -> str:
    width = max((len(str(event)) for event, _, _ in found), default=0)
    return "".join(
        f"{event:>{width}}{_NAMES.get(fd, f' (fd {fd})')}: {text.rstrip(chr(10))}\n"
        for event, fd, text in found
    )


def formatted(text: str) -> str:
    """GDB's `output/FMT EXP`."""
    found = re.match(r"/(\w+)\s+(.*)", text)
    try:
        value = predicates.value(found[2] if found else text)
        return str(value.format_string(format=found[1]) if found else value.format_string())
    except (gdb.error, ValueError) as error:
        raise gdb.GdbError(str(error)) from None
