"""rdb-asked: the MPI call at the position, as JSON, for programs that drive GDB."""

from __future__ import annotations

import json

import gdb

from .. import link
from ..search import last_calls
from ..state import threads
from .command import Command, command


@command("rdb-asked", gdb.COMMAND_STATUS)
class Asked(Command):
    """Print the MPI call that is answered next, or at the end never was, as one line of JSON.
    `own` is the line of the program, if the frames of the selected thread do not have it."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        answer = link.ask("asked")
        running = threads.number()
        asks = next((one["thread"] for one in answer["calls"]), running)
        if asks == running:
            own = last_calls.line()
        else:
            with threads.selected(asks):
                own = last_calls.line() or last_calls.innermost()
        gdb.write(json.dumps({**answer, "own": own}) + "\n")
