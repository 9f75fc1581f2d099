"""The last hit of a breakpoint among the newest instructions, from their registers alone.

GDB's `reverse-next` goes back out of each call by running back to where it was entered, and mostly
that is near: then no replica has to run.
"""

from __future__ import annotations

from collections.abc import Iterable

from rdb.replay.agent import Gpr
from rdb.timeline.points import Breakpoint, Points

# An agent expression (GDB manual, appendix F) of the form REGISTER == CONSTANT.
_REG, _CONST64, _EQUAL_END = 0x26, 0x25, b"\x13\x27"
_LENGTH = 14


def recent_hit(points: Points, newest_first: Iterable[Gpr]) -> tuple[int, int] | None:
    """How many instructions back, and the breakpoint's id; None: none, or it cannot be told."""
    if points.watchpoints or not points.breakpoints:
        return None
    at: dict[int, list[tuple[int, Breakpoint]]] = {}
    for id_, breakpoint_ in points.breakpoints.items():
        at.setdefault(breakpoint_.addr, []).append((id_, breakpoint_))
    for back, gpr in enumerate(newest_first, start=1):
        for id_, breakpoint_ in at.get(gpr.rip, ()):
            holds = not breakpoint_.cond or _holds(breakpoint_.cond, gpr)
            if holds is None:
                return None
            if holds:
                return back, id_
    return None


def _holds(cond: bytes, gpr: Gpr) -> bool | None:
    number = int.from_bytes(cond[1:3], "big")
    simple = len(cond) == _LENGTH and cond[0] == _REG and cond[3] == _CONST64
    if not simple or cond[12:] != _EQUAL_END or number > Gpr._fields.index("eflags"):
        return None
    return bool(gpr[number] == int.from_bytes(cond[4:12], "big"))
