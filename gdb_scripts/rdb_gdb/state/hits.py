"""Hit counts of breakpoints, which undo and redo restore.

GDB's hit count can only be set to zero.  So a count is GDB's count plus the hits kept here.
`info breakpoints` shows only GDB's count; front ends get the sum by rdb-hits.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

_before: dict[int, int] = {}  # number -> hits that GDB's count does not include
_ROW = re.compile(r"(\d+)\s")
_HITS = re.compile(r"\tbreakpoint already hit \d+ times?")
_STOP_ONLY = "\tstop only "  # a condition's line comes before that of the hits


def of(point: Any) -> int:
    return _before.get(point.number, 0) + _counted(point)


def put_back(point: Any, wanted: int) -> None:
    if of(point) == wanted:
        return
    if _counted(point):
        point.hit_count = 0
    _before[point.number] = wanted


def _counted(point: Any) -> int:
    """GDB's count; 0 for a dprintf, which has none."""
    return getattr(point, "hit_count", 0)


def in_table(text: str) -> str:
    """The output of `info breakpoints` with our counts."""
    if not any(_before.values()):
        return text.rstrip("\n")
    counts = {point.number: of(point) for point in gdb.breakpoints() or ()}
    found: list[str] = []
    owed = 0  # hits of the present breakpoint that are not shown yet
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
