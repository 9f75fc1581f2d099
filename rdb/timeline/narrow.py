"""Positions between two positions of one interval, for halving it.

An interval has no clock.  Positions in it are named by steps (a few thousand at most), or by
arrivals at a pc, which can be counted at native speed.
"""

from __future__ import annotations

from typing import NamedTuple

from rdb.replay.agent import Gpr, StopReason
from rdb.timeline.before import rarest
from rdb.timeline.position import Position
from rdb.timeline.stopped import NoSuchPosition
from rdb.timeline.travel import COUNT_ID, Travel
from rdb.timeline.walker import Walker

_REQUEST = 512
_WINDOW = 4 * _REQUEST


class Window(NamedTuple):
    """The first instructions after a position."""

    steps: int
    reached: bool  # the other position is `steps` after the first
    candidates: list[int]  # pcs to count, those executed least often first
    left: int  # arrivals at the other position's pc that are still to come, including its own


def arrivals(walker: Walker, target: Position, pc: int) -> int:
    """How often `pc` is arrived at from the walker to `target`, inclusive.  The walker stays."""
    probe = walker.fork()
    try:
        probe.agent.set_break(COUNT_ID, pc, stop=False)
        probe.go(target, counting=True)
        total, since_event = probe.agent.counts(COUNT_ID)
    finally:
        probe.close()
    # At the answer of an event, the arrival by the answer itself may or may not be counted.
    return total if target.moves else total - since_event + 1


def passed(travel: Travel, low: Position, high: Position, pc: int) -> int:
    """How often `pc` is arrived at from `low` to `high`, which is later in the interval."""
    walker = travel.to(low)
    try:
        return arrivals(walker, high, pc)
    finally:
        walker.close()


def window(travel: Travel, low: Position, high: Position, high_pc: int) -> Window:
    """Steps from `low` towards `high`, which is later in the interval or the answer ending it."""
    walker = travel.to(low)
    try:
        travel.keep_if_worth(walker)
        left = arrivals(walker, high, high_pc)
        gprs: list[Gpr] = []
        while len(gprs) < _WINDOW:
            stop = walker.step(_REQUEST, trace=True, pc=high_pc, n=left)
            gprs.extend(stop.trace)
            at = stop.gpr.pc == high_pc
            left -= sum(gpr.pc == high_pc for gpr in stop.trace[1:]) + at
            if left == 0:
                return Window(len(gprs), True, [], 0)
            if stop.reason is not StopReason.TARGET:
                raise NoSuchPosition(f"the replay did not reach position {high} from {low}")
        return Window(len(gprs), False, rarest(gprs, high_pc), left)
    finally:
        walker.close()


def count(travel: Travel, low: Position, high: Position, pcs: list[int]) -> dict[int, int]:
    """How often each of these pcs (none of them that of HIGH) is arrived at between two
    positions."""
    walker = travel.to(low)
    try:
        for id_, pc in enumerate(pcs, start=1):
            walker.agent.set_break(id_, pc, stop=False)
        walker.go(high, counting=True)
        counts = {pc: walker.agent.counts(id_) for id_, pc in enumerate(pcs, start=1)}
    finally:
        walker.close()
    if high.moves:
        return {pc: total for pc, (total, _) in counts.items()}
    return {pc: total - since for pc, (total, since) in counts.items()}


def pc_at(travel: Travel, position: Position) -> int:
    walker = travel.to(position)
    walker.close()
    return walker.gpr.pc
