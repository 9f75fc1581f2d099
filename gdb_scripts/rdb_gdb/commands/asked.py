"""rdb-asked: the MPI call at the position, as JSON, for programs that drive GDB."""

from __future__ import annotations

import json

import gdb

from .. import link
from ..search import last_calls
from .command import Command, command


@command("rdb-asked", gdb.COMMAND_STATUS)
class Asked(Command):
    """Print the MPI call that is answered next, or at the end never was, as one line of JSON.
    `own` is the line of the program, if GDB's frames do not have it."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        gdb.write(json.dumps({**link.ask("asked"), "own": last_calls.line()}) + "\n")
