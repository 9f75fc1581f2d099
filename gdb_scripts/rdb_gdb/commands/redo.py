"""redo: does again what was undone."""

from __future__ import annotations

import gdb

from ..state import history
from .command import Command, command, count_argument


@command("redo")
class Redo(Command):
    """Do again what was undone last, or the last COUNT: redo [COUNT]"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        count = count_argument(argument)
        with history.log.travelling():
            redone = history.log.redo(count)
        if redone == 0 and history.log.done < len(history.log.entries):
            text = history.log.entries[history.log.done].text
            raise gdb.GdbError(
                f"Cannot redo {text!r}: its branch was not kept; type the command again."
            )
        if redone == 0:
            raise gdb.GdbError("Nothing to redo.")
        if redone < count:
            gdb.write(f"Redid {redone}; there are no more.\n")
