"""when: the rank's position in its recording."""

from __future__ import annotations

import gdb

from .. import link
from .command import Command, command


@command("when", gdb.COMMAND_STATUS)
class When(Command):
    """Print the last completed event and the position, which `goto` takes: when"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        answer = link.ask("name")
        end = "the end of the recording"
        if not answer["end_known"]:
            end = "the last; what followed is not known"
        notes = [
            text
            for key, text in (
                ("branch", "in a branch that left the recording there"),
                ("at_start", "the start of the recording"),
                ("at_end", end),
            )
            if answer[key]
        ]
        if answer["threaded"]:
            notes.insert(0, f"thread {answer['thread']} runs")
        gdb.write(f"Completed event: {answer['event']} ({answer['name']})")
        gdb.write(f", {', '.join(notes)}\n" if notes else "\n")
