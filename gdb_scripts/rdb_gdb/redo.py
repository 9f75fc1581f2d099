"""redo: forward again over what was undone."""

from __future__ import annotations

import gdb

from . import history
from .command import Command, count_argument


class Redo(Command):
    """Do again what was undone last, or the last COUNT: redo [COUNT]"""

    name = "redo"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        count = count_argument(argument)
        with history.log.travelling():
            redone = history.log.redo(count)
        if redone == 0 and history.log.done < len(history.log.entries):
            text = history.log.entries[history.log.done].text
            raise gdb.GdbError(f"Cannot redo {text!r}: its branch is not kept; type it again.")
        if redone == 0:
            raise gdb.GdbError("Nothing to redo.")
        if redone < count:
            gdb.write(f"Redid {redone}; there was no more.\n")


def define() -> None:
    Redo()
