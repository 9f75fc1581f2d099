"""How often a breakpoint was hit, along the history.

GDB counts hits and cannot be told a number, only zero: what it has counted since then comes on top
of what is known here.  `info breakpoints` is GDB's, so a front end that wants the sum asks for it
by rdb-hits.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from .command import Command

_before: dict[int, int] = {}  # number -> hits that GDB does not count
_ROW = re.compile(r"(\d+)\s")
_HITS = re.compile(r"\tbreakpoint already hit \d+ times?")
_STOP_ONLY = "\tstop only "  # conditions come before the hits


def of(point: Any) -> int:
    return _before.get(point.number, 0) + _counted(point)


def put_back(point: Any, wanted: int) -> None:
    if of(point) == wanted:
        return
    if _counted(point):
        point.hit_count = 0
    _before[point.number] = wanted


def _counted(point: Any) -> int:
    """dprintfs have none that can be asked for."""
    return getattr(point, "hit_count", 0)


def in_table(text: str) -> str:
    """What `info breakpoints` printed, with our numbers."""
    counts = {point.number: of(point) for point in gdb.breakpoints() or ()}
    found: list[str] = []
    owed = 0  # hits of the breakpoint whose rows these are, until they are shown
    for line in text.splitlines():
        row = _ROW.match(line)
        if owed and not line.startswith(_STOP_ONLY):
            found.append(f"\tbreakpoint already hit {owed} time{'s' * (owed != 1)}")
            owed = 0
        if row:
            owed = counts.get(int(row[1]), 0)
        elif _HITS.fullmatch(line):
            continue
        found.append(line)
    if owed:
        found.append(f"\tbreakpoint already hit {owed} time{'s' * (owed != 1)}")
    return "\n".join(found)


class Hits(Command):
    """Print a table of breakpoints with the hits that the history knows:
    rdb-hits info breakpoints"""

    name = "rdb-hits"
    kind = gdb.COMMAND_STATUS

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = gdb.execute(argument, to_string=True)
        gdb.write((in_table(text) if any(_before.values()) else text.rstrip("\n")) + "\n")


def define() -> None:
    Hits()
