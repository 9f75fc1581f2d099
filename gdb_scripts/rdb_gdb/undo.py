"""undo: back to before the last commands."""

from __future__ import annotations

import gdb

from . import bookmark, history
from .command import Command, count_argument


class Undo(Command):
    """Take back the last command that changed something, or the last COUNT: undo [COUNT]
    undo --to BOOKMARK takes back all that was done since the bookmark was set.  The program stands
    where it stood, with the breakpoints, watchpoints, displays and settings of then.  `redo` goes
    forward again, `history` lists what there is."""

    name = "undo"

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        words = argument.split()
        if words[:1] == ["--to"]:
            if len(words) != 2:
                raise gdb.GdbError("Usage: undo --to BOOKMARK")
            history.log.settle()
            count = bookmark.since(words[1])
            if not count:
                raise gdb.GdbError(f"Nothing was done since {words[1]}.")
        else:
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
