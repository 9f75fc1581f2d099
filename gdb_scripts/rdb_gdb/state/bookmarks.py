"""Names for positions: bookmarks."""

from __future__ import annotations

from dataclasses import dataclass

import gdb

from .. import link
from . import history


@dataclass(frozen=True)
class Bookmark:
    position: str
    done: int  # number of commands in the history
    last: history.Entry | None  # the newest command


#: Of this session, by name.
known: dict[str, Bookmark] = {}


def set_here(name: str) -> str:
    """Names the present position; returns it."""
    log = history.log
    log.settle()
    position = str(link.ask("name")["name"])
    known[name] = Bookmark(position, log.done, log.entries[log.done - 1] if log.done else None)
    return position


def find(name: str) -> Bookmark:
    if name not in known:
        raise gdb.GdbError(f'No bookmark named "{name}".')
    return known[name]


def since(name: str) -> int:
    """How many commands were done since the bookmark was set."""
    mark, log = find(name), history.log
    if mark.done > log.done or (mark.done and log.entries[mark.done - 1] is not mark.last):
        raise gdb.GdbError(
            f"The commands that led to {name} were undone; `goto {name}` goes there."
        )
    return log.done - mark.done
