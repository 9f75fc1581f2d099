"""follow: takes in what a running program has recorded since, and goes to the new end."""

from __future__ import annotations

import gdb

from .. import link
from . import goto
from .command import Command, command


@command("follow")
class Follow(Command):
    """Read what has been recorded since, and go to the new end: follow
    For a program that still runs; `undo` goes back to where the rank stood."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument.strip():
            raise gdb.GdbError("Usage: follow")
        link.ask("renew")
        goto.go("END", self.name)
