"""The last hit of a breakpoint among the newest instructions, from their registers alone.

GDB's `reverse-next` leaves a call by running back to its entry.  Mostly that is near, and then no
replica has to run.
"""

from __future__ import annotations

from collections.abc import Iterable

from rdb.replay.agent import Gpr
from rdb.timeline.points import Breakpoint, Points

# An agent expression (GDB manual, appendix F) of the form REGISTER == CONSTANT.
_REG, _CONST64, _EQUAL_END = 0x26, 0x25, b"\x13\x27"
_LENGTH = 14


Place = list[tuple[int, Breakpoint]]  # the breakpoints at one address, by id


def breakpoints_by_place(points: Points) -> dict[int, Place]:
    at: dict[int, Place] = {}
    for id_, breakpoint_ in points.breakpoints.items():
        at.setdefault(breakpoint_.addr, []).append((id_, breakpoint_))
    return at


def can_tell(breakpoints: Iterable[Breakpoint]) -> bool:
    """Do registers alone tell whether one is hit?"""
    return all(not one.cond or _simple(one.cond) for one in breakpoints)


def recent_hit(points: Points, newest_first: Iterable[Gpr]) -> tuple[int, int] | None:
    """How many instructions back the last hit is, and the breakpoint's id; None: there is none."""
    at = breakpoints_by_place(points)
    for back, gpr in enumerate(newest_first, start=1):
        id_ = holding(at[gpr.pc], gpr) if gpr.pc in at else 0
        if id_:
            return back, id_
    return None


def holding(place: Place, gpr: Gpr) -> int:
    """The id of a breakpoint at PLACE whose condition is true; 0: there is none."""
    held = (id_ for id_, one in place if not one.cond or _holds(one.cond, gpr))
    return next(held, 0)


def _simple(cond: bytes) -> bool:
    number = int.from_bytes(cond[1:3], "big")
    simple = len(cond) == _LENGTH and cond[0] == _REG and cond[3] == _CONST64
    return simple and cond[12:] == _EQUAL_END and number <= Gpr._fields.index("eflags")


def _holds(cond: bytes, gpr: Gpr) -> bool:
    return bool(gpr[int.from_bytes(cond[1:3], "big")] == int.from_bytes(cond[4:12], "big"))
