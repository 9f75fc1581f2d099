"""Every change of some bytes in a part of the recording, one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rdb.errors import Diverged
from rdb.replay.agent import FOREVER, Changed, Stop, StopReason
from rdb.replay.protocol import CHANGE_BYTES
from rdb.timeline.position import Position, WatchHit
from rdb.timeline.stopped import Interrupted
from rdb.timeline.travel import Travel
from rdb.timeline.walker import ENDED, Walker

_WATCH_ID, _LEAVE_ID = 1, 2
_LEGS = 64
_MOST = 2000  # changes in one run: as many as fit an answer
_LOOK_S = 0.2  # of running between two looks

Look = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Change:
    """Where one stands right after it, and the bytes before and after."""

    position: Position
    pc: int  # of the instruction after the writing one
    was: bytes
    now: bytes
    by_event: bool


@dataclass(frozen=True, slots=True)
class Leave:
    """The frame that the bytes are in is gone when one comes to `addr` and `cond` holds."""

    addr: int
    cond: bytes


class ChangeSearch:
    """`run` gives each change after `start`, up to `end`; to the end of the recording if None."""

    def __init__(
        self,
        travel: Travel,
        watch: tuple[int, int],
        start: Position,
        end: Position | None,
        leave: Leave | None = None,
    ) -> None:
        self._travel = travel
        self._addr, self._length = watch
        self._start, self._end = start, end
        self._leave = leave

    def run(self, look: Look) -> Iterator[Change]:
        start = self._start
        last = self._travel.last_event if self._end is None else self._end.event
        if start.event > last:
            return
        walker = self._travel.to(start)
        try:
            self._arm(walker)
            base, was = start, walker.agent.read(self._addr, self._length)
            inside = False  # in the interval that holds the end
            left = FOREVER  # changes that are still to come in it
            most = 1
            while left:
                look((walker.live_event - start.event) / max(last - start.event, 1))
                if not inside and walker.live_event == last:
                    inside = True
                    if self._end is not None:
                        left = self._left(walker, base, self._end)
                        continue
                began = time.monotonic()
                stop, changes = self._forward(walker, last, inside, min(most, left))
                for change in changes:
                    if change.event != base.event:
                        base = Position(change.event)
                    if not change.by_event:
                        base = base.then(WatchHit(self._addr, self._length, 0, 1))
                    if change.now != was:
                        yield Change(base, change.pc, was, change.now, change.by_event)
                    was = change.now
                if stop is None:
                    raise Interrupted
                if stop.reason in ENDED or stop.reason is StopReason.BREAK:
                    return
                if stop.event != base.event:
                    base = Position(stop.event)
                left -= len(changes) if inside else 0
                quick = time.monotonic() - began < _LOOK_S
                most = min(2 * most, _MOST) if quick else max(most // 2, 1)
        finally:
            walker.close()

    def _arm(self, walker: Walker) -> None:
        walker.agent.watch(_WATCH_ID, self._addr, self._length)
        if self._leave is not None:
            walker.agent.set_break(_LEAVE_ID, self._leave.addr, stop=True, cond=self._leave.cond)

    def _forward(
        self, walker: Walker, last: int, inside: bool, most: int
    ) -> tuple[Stop | None, list[Changed]]:
        """Over so many changes, or a leg: what is long is to be seen going on.  No stop: it was
        interrupted."""
        until = FOREVER
        if not inside:
            until = min(walker.live_event + max((last - self._start.event) // _LEGS, 1), last)
        if self._length > CHANGE_BYTES:
            return self._one(walker, until)
        try:
            stop = walker.run_changes(until, self._addr, self._length, most)
        except Interrupted as interrupted:
            if interrupted.stop is None:
                raise
            return None, walker.agent.changes()
        return stop, walker.agent.changes()

    def _one(self, walker: Walker, until: int) -> tuple[Stop, list[Changed]]:
        stop = walker.run(until_event=until)
        if stop.reason is not StopReason.WATCH:
            return stop, []
        now = walker.agent.read(self._addr, self._length)
        return stop, [Changed(stop.event, stop.gpr.rip, bool(stop.by_event), now)]

    def _left(self, walker: Walker, here: Position, end: Position) -> int:
        """How many changes are between `here`, in the interval of `end`, and `end`."""
        if here.event != end.event:
            here = Position(end.event)
        travel = self._travel
        pc = travel.gpr_at(end).rip
        probe = travel.to(here)
        try:
            probe.agent.watch(_WATCH_ID, self._addr, self._length)
            event, until_pc, n = travel.goal(probe, end, pc)
            if not until_pc or n <= 0:
                return 0
            stop = probe.run(event, until_pc, n, scan=True)
            if stop.reason is not StopReason.TARGET:
                raise Diverged(f"{end} was not reached from {here}")
            return stop.scan.total
        finally:
            probe.close()
