"""rdb-asked: the MPI call that is asked for here, as JSON, for programs that drive GDB."""

from __future__ import annotations

import json

import gdb

from . import link, pynames
from .command import Command


class Asked(Command):
    """Print the MPI call that is answered next, or at the end never was, and the line of Python
    that runs, as one line of JSON."""

    name = "rdb-asked"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        link.connection()
        gdb.write(json.dumps({**link.ask("asked"), "python": pynames.place()}) + "\n")


def define() -> None:
    Asked()
