"""output: what the program had printed by now."""

from __future__ import annotations

import re

import gdb

from . import link
from .command import Command


class Output(Command):
    """Print what the program had written to its standard output and error up to here: output
    Replay writes nothing, this is from the recording.  `output --all` names every descriptor.
    With an expression it is GDB's own command: print it without newline (output/FMT EXP)."""

    name = "output"
    kind = gdb.COMMAND_DATA

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = argument.strip()
        if text and text != "--all":
            gdb.write(formatted(text))
            gdb.flush()  # there is no newline to do it
            return
        for part in link.ask("output")["output"]:
            data = bytes.fromhex(part["data"]).decode("utf-8", "replace")
            if text:
                gdb.write(f"[event {part['event']}, descriptor {part['fd']}] {data!r}\n")
            elif part["fd"] in (1, 2):
                gdb.write(data)


def formatted(text: str) -> str:
    """GDB's `output/FMT EXP`."""
    found = re.match(r"/(\w+)\s+(.*)", text)
    value = gdb.parse_and_eval(found[2] if found else text)
    return str(value.format_string(format=found[1]) if found else value.format_string())


def define() -> None:
    Output()
