"""bookmark: names for positions."""

from __future__ import annotations

import re
from dataclasses import dataclass

import gdb

from . import history, link
from .command import Command
from .quoting import unquoted


@dataclass(frozen=True)
class Mark:
    position: str
    done: int  # so many commands were in the history
    last: history.Entry | None  # the newest of them


#: Of this session, by name.
bookmarks: dict[str, Mark] = {}


class Bookmark(Command):
    """Name the current position: bookmark NAME
    `goto NAME` comes back to it, `undo --to NAME` takes back what was done since.  Without NAME,
    list the bookmarks."""

    name = "bookmark"

    def invoke(self, argument: str, from_tty: bool) -> None:
        name = unquoted(argument)
        if not name:
            listing()
            return
        if not re.fullmatch(r"[A-Za-z_][\w.-]*", name) or name.upper() in ("START", "END"):
            raise gdb.GdbError("A bookmark's name is a word that begins with a letter.")
        log = history.log
        log.settle()
        position = link.ask("name")["name"]
        bookmarks[name] = Mark(position, log.done, log.entries[log.done - 1] if log.done else None)
        gdb.write(f"Bookmark {name} at {position}\n")


def listing() -> None:
    link.connection()
    if not bookmarks:
        gdb.write("No bookmarks.\n")
    for name, mark in bookmarks.items():
        gdb.write(f"{name:<16} {mark.position}\n")


def find(name: str) -> Mark:
    if name not in bookmarks:
        raise gdb.GdbError(f'No bookmark named "{name}".')
    return bookmarks[name]


def since(name: str) -> int:
    """How many commands were done since the bookmark was set."""
    mark, log = find(name), history.log
    if mark.done > log.done or (mark.done and log.entries[mark.done - 1] is not mark.last):
        raise gdb.GdbError(f"What led to {name} has been undone; `goto {name}` goes there.")
    return log.done - mark.done


def define() -> None:
    Bookmark()
