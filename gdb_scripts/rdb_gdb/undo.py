"""undo: back to before the last commands."""

from __future__ import annotations

import gdb

from . import history
from .command import Command, count_argument


class Undo(Command):
    """Take back the last command that changed something, or the last COUNT: undo [COUNT]
    The program stands where it stood, with the breakpoints, watchpoints and displays of then.
    `redo` goes forward again, `history` lists what there is."""

    name = "undo"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        count = count_argument(argument)
        with history.log.travelling():
            undone = history.log.undo(count)
        if not undone:
            raise gdb.GdbError("Nothing to undo.")
        if undone < count:
            gdb.write(f"Undid {undone}; there was no more.\n")
        elif undone > count:
            gdb.write(f"Undid {undone}: not every state of a branch is kept.\n")


def define() -> None:
    Undo()
