"""rdb-block: a block of lines that begins with a command of GDB's and ends with `end`."""

from __future__ import annotations

import re

import gdb

from ..state import points
from .command import Command, command

_OF_POINTS = re.compile(r"\s*comm\w*\s+(\d[\d\s-]*)$")


@command("rdb-block", gdb.COMMAND_DATA)
class Block(Command):
    """Run the block of lines in a file: rdb-block FILE
    For programs that drive GDB.  `commands N` takes the numbers that breakpoints had before `undo`
    brought them back."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        file = argument.strip()
        with open(file, encoding="utf-8") as block:
            first, _, body = block.read().partition("\n")
        first = points.renumbered(first.strip())
        numbers = _OF_POINTS.fullmatch(first)
        if numbers is not None:
            _need_some(numbers[1])  # else GDB would run the block's lines at once
        with open(file, "w", encoding="utf-8") as block:
            block.write(f"{first}\n{body}")
        try:
            gdb.execute(f"source {file}", from_tty)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None


def _need_some(numbers: str) -> None:
    """Raises GdbError if there is none of these breakpoints: `4`, `2 3`, `2-4`."""
    have = {point.number for point in points.everything()}
    for one in re.sub(r"\s*-\s*", "-", numbers).split():
        low, _, high = one.partition("-")
        if any(int(low) <= number <= int(high or low) for number in have):
            return
    raise gdb.GdbError(f"No breakpoint number {numbers.strip()}.")
