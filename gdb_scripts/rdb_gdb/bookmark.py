"""bookmark: names for positions."""

from __future__ import annotations

import re

import gdb

from . import link
from .command import Command

#: Name -> position, for this session.
bookmarks: dict[str, str] = {}


class Bookmark(Command):
    """Name the current position: bookmark NAME
    `goto NAME` comes back to it.  Without NAME, list the bookmarks."""

    name = "bookmark"

    def invoke(self, argument: str, from_tty: bool) -> None:
        name = argument.strip()
        if not name:
            link.connection()
            if not bookmarks:
                gdb.write("No bookmarks.\n")
            for known, position in bookmarks.items():
                gdb.write(f"{known:<16} {position}\n")
            return
        if not re.fullmatch(r"[A-Za-z_][\w.-]*", name) or name.upper() in ("START", "END"):
            raise gdb.GdbError("A bookmark's name is a word that begins with a letter.")
        bookmarks[name] = link.ask("name")["name"]
        gdb.write(f"Bookmark {name} at {bookmarks[name]}\n")


def define() -> None:
    Bookmark()
