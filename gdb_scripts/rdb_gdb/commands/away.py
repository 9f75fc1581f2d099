"""rdb-leave, rdb-return: saves what the user has made in this GDB, and restores it in another GDB.

For programs that drive many GDBs (rdb/session/away.py).  The file holds the position, breakpoints
with their numbers, displays, settings, bookmarks, checkpoints and the history, so that undo and
redo work.  rdb-leave fails if there is something that cannot be saved: branches, the user's
variables, catchpoints of processes and signals, watchpoints that wait for their frame.
"""

from __future__ import annotations

import os
import re
from typing import Any

import gdb

from ..state import (
    bookmarks,
    branches,
    displays,
    history,
    place,
    points,
    scopes,
    settings,
    snapshot,
)
from . import names
from .command import Command, command

# Variables of GDB itself in `show convenience`, besides names that begin with `_`.
_GDBS = re.compile(r"(bpnum|tpnum|trace_\w+|cdir|cwd|argv?|linux_vdso_\w+|siginfo)\Z")


@command("rdb-leave", gdb.COMMAND_STATUS)
class Leave(Command):
    """Write this GDB's breakpoints, bookmarks and history to a file: rdb-leave FILE
    For programs that drive GDB.  Prints how many values `$1`, `$2`, ... will be lost; fails if
    more than these would be lost."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        import pickle

        log = history.log
        log.settle()
        why = _irreplaceable()
        if why is not None:
            raise gdb.GdbError(why)
        log.current = snapshot.take()
        made = {
            "log": (log.entries, log.done, log.current, log.place),
            "position": log.current.position,
            "numbers": {state.identity: number for number, state in _points().items()},
            "newest": int(gdb.convenience_variable("bpnum") or 0),
            "bookmarks": bookmarks.known,
            "checkpoints": names.checkpoints(),
            "level": _level(),
        }
        opener = lambda path, flags: os.open(path, flags, 0o600)  # noqa: E731
        with open(argument.strip(), "wb", opener=opener) as file:
            pickle.dump(made, file)
        gdb.write(f"{_values()}\n")


@command("rdb-return", gdb.COMMAND_STATUS)
class Return(Command):
    """Restore what `rdb-leave` wrote in another GDB: rdb-return FILE"""

    def invoke(self, argument: str, from_tty: bool) -> None:
        import pickle

        with open(argument.strip(), "rb") as file:
            made = pickle.load(file)
        log = history.log
        log.current = None  # changes are not logged meanwhile
        entries, done, current, where = made["log"]
        place.seek(made["position"])
        settings.restore(current.settings)
        lost = _numbered(current, made["numbers"], made["newest"])
        displays.restore(current.displays)
        bookmarks.known.clear()
        bookmarks.known.update(made["bookmarks"])
        names.have_checkpoints(*made["checkpoints"])
        if made["level"]:
            gdb.execute(f"frame {made['level']}", to_string=True)
        log.resume(entries, done, where)
        for line in lost:
            gdb.write(f"{line}\n")


def _irreplaceable() -> str | None:
    """Why the state of this GDB cannot be saved; None: it can."""
    if branches.known:
        return "it has branches"
    mine = [point for point in points.everything() if point.visible]
    if len(mine) != len(points.current()):
        return "it has catchpoints"
    if any(scopes.waiting(point) for point in mine):
        return "a watchpoint waits for its frame"
    shown = gdb.execute("show convenience", to_string=True)
    for name, value in re.findall(r"(?m)^\$([A-Za-z]\w*) = (.*)$", shown):
        if value != "void" and not value.startswith("<internal") and not _GDBS.match(name):
            return f"it has the variable ${name}"
    defined = gdb.execute("show user", to_string=True).split("User command ")
    for text in defined:
        if text.strip() and not re.search("rdb_gdb|rdb-reverse-finish", text):  # not our hooks
            return f"it has the command {text.split(':')[0]}"
    return None


def _values() -> int:
    """Number of values in the value history, of which `show values` lists the last ten."""
    numbers = re.findall(r"(?m)^\$(\d+) = ", gdb.execute("show values", to_string=True))
    return int(numbers[-1]) if numbers else 0


def _level() -> int:
    try:
        return int(gdb.selected_frame().level())
    except gdb.error:
        return 0  # no frame here


def _points() -> dict[int, points.PointState]:
    known = {state.identity: state for state in points.current()}
    return {
        point.number: known[points.identity(point.number)]
        for point in points.everything()
        if points.identity(point.number) in known
    }


def _numbered(current: snapshot.Snapshot, numbers: dict[int, int], newest: int) -> list[str]:
    """Restores breakpoints with their numbers; messages about those that were lost.

    GDB numbers breakpoints in order, so deleted numbers are skipped with temporary breakpoints.
    """
    states: dict[int, Any] = {numbers[state.identity]: state for state in current.points}
    said: list[str] = []
    for number in range(1, newest + 1):
        if number in states:
            said += points.put_back_one(states[number])
        if int(gdb.convenience_variable("bpnum") or 0) < number:
            gdb.execute("tbreak *0", to_string=True)
            gdb.execute(f"delete {number}")
    return said
