"""follow: what a program that still runs has added to its recording, and to the new end."""

from __future__ import annotations

import gdb

from . import goto, link
from .command import Command


class Follow(Command):
    """Take in what has been recorded meanwhile, and go to its end: follow
    Of a program that still runs; `undo` goes back to where the rank stood."""

    name = "follow"

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument.strip():
            raise gdb.GdbError("Usage: follow")
        link.ask("renew")
        goto.go("END", self.name)


def define() -> None:
    Follow()
