"""undo: takes back the last commands."""

from __future__ import annotations

import gdb

from ..state import bookmarks, history
from .command import Command, command, count_argument


@command("undo")
class Undo(Command):
    """Take back the last command that changed something, or the last COUNT: undo [COUNT]
    undo --to BOOKMARK takes back all that was done since the bookmark was set.  The program stands
    where it stood before, with the breakpoints, watchpoints, displays and settings that it had
    there.  `redo` goes forward again, `history` lists the commands."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        words = argument.split()
        if words[:1] == ["--to"]:
            if len(words) != 2:
                raise gdb.GdbError("Usage: undo --to BOOKMARK")
            history.log.settle()
            count = bookmarks.since(words[1])
            if not count:
                raise gdb.GdbError(f"Nothing was done since {words[1]}.")
        else:
            count = count_argument(argument)
        with history.log.travelling():
            undone = history.log.undo(count)
        if not undone:
            raise gdb.GdbError("Nothing to undo.")
        if undone < count:
            gdb.write(f"Undid {undone}; there are no more.\n")
        elif undone > count:
            gdb.write(f"Undid only {undone}: the state before that was not kept.\n")
