"""history: the commands that can be undone and redone."""

from __future__ import annotations

import gdb

from . import history
from .command import Command


class Listing(Command):
    """List the commands that changed something; the arrow shows where you are: history"""

    name = "history"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        log = history.log
        log.settle()
        if not log.entries:
            gdb.write("No commands yet.\n")
            return
        if log.done == 0:
            gdb.write("=> (the start)\n")
        for number, entry in enumerate(log.entries, start=1):
            arrow = "=>" if number == log.done else "  "
            undone = "  (undone)" if number > log.done else ""
            branch = "  (branch)" if entry.after.branch else ""
            thread = "" if entry.after.thread is None else f"thread {entry.after.thread}, "
            gdb.write(
                f"{arrow} {number:<4} {entry.text:<32} event {entry.after.event}, "
                f"{thread}{entry.place}{branch}{undone}\n"
            )


def define() -> None:
    Listing()
