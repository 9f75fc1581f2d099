"""rdb-asked: the MPI call at the position, as JSON, for programs that drive GDB."""

from __future__ import annotations

import json

import gdb

from .. import link
from ..values import pynames
from .command import Command, command


@command("rdb-asked", gdb.COMMAND_STATUS)
class Asked(Command):
    """Print the MPI call that is answered next, or at the end never was, and the line of Python
    that runs, as one line of JSON."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        gdb.write(json.dumps({**link.ask("asked"), "python": pynames.place()}) + "\n")
