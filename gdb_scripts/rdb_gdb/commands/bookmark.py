"""bookmark: names for positions."""

from __future__ import annotations

import re

import gdb

from .. import link
from ..state import bookmarks
from ..values.quoting import unquoted
from .command import Command, command


@command("bookmark")
class Bookmark(Command):
    """Name the current position: bookmark NAME
    `goto NAME` comes back to it, `undo --to NAME` takes back what was done since.  Without NAME,
    list the bookmarks."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        name = unquoted(argument)
        if not name:
            listing()
            return
        if not re.fullmatch(r"[A-Za-z_][\w.-]*", name) or name.upper() in ("START", "END"):
            raise gdb.GdbError("A bookmark's name must be one word that begins with a letter.")
        gdb.write(f"Bookmark {name} at {bookmarks.set_here(name)}\n")


def listing() -> None:
    link.connection()
    if not bookmarks.known:
        gdb.write("No bookmarks.\n")
    for name, mark in bookmarks.known.items():
        gdb.write(f"{name:<16} {mark.position}\n")
