"""All changes of some bytes in a part of the recording, in order.

A long part is cut at events into pieces that run in parallel; their results are joined in order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from rdb.errors import Diverged
from rdb.replay.agent import FOREVER, Changed, Stop, StopReason
from rdb.replay.protocol import CHANGE_BYTES
from rdb.timeline.parallel import SideBySide, Task, side_by_side
from rdb.timeline.pieces import ahead, cuts_between
from rdb.timeline.position import Position, WatchHit
from rdb.timeline.stopped import Interrupted
from rdb.timeline.travel import Travel
from rdb.timeline.walker import ENDED, Walker

_WATCH_ID, _LEAVE_ID = 1, 2
_LEGS = 64
_MOST = 2000  # changes in one run: these fit one answer
_LOOK_S = 0.2  # running time between two calls of `look`

Look = Callable[[float], None]


class Change(NamedTuple):
    """The position right after a change, and the bytes before and after it."""

    position: Position
    pc: int  # of the instruction after the writing one
    was: bytes
    now: bytes
    by_event: bool


class Leave(NamedTuple):
    """The frame with the bytes ends on arrival at `addr` with condition `cond`."""

    addr: int
    cond: bytes


class _At:
    """Position of a search, and the bytes there."""

    def __init__(self, base: Position, was: bytes) -> None:
        self.base = base
        self._was = was

    def taken(self, changes: list[Changed], watch: tuple[int, int]) -> list[Change]:
        """Of writes, those that changed the value."""
        found: list[Change] = []
        for change in changes:
            if change.event != self.base.event:
                self.base = Position(change.event)
            if not change.by_event:
                self.base = self.base.then(WatchHit(*watch, 0, 1))
            if change.now != self._was:
                by_event = change.by_event
                found.append(Change(self.base, change.pc, self._was, change.now, by_event))
            self._was = change.now
        return found

    def stopped(self, stop: Stop) -> None:
        if stop.event != self.base.event:
            self.base = Position(stop.event)


def _next_most(most: int, began: float) -> int:
    quick = time.monotonic() - began < _LOOK_S
    return min(2 * most, _MOST) if quick else max(most // 2, 1)


class ChangeSearch:
    """Changes of WATCH (address, length) after START, up to END (None: the end of the recording),
    at most MOST.

    `run` raises Interrupted after it has returned what was found.  LEAVE: ends the search earlier.
    """

    def __init__(
        self,
        travel: Travel,
        watch: tuple[int, int],
        start: Position,
        end: Position | None,
        leave: Leave | None = None,
        most: int = 1 << 30,
    ) -> None:
        self._travel = travel
        self._addr, self._length = watch
        self._start, self._end = start, end
        self._leave = leave
        self._most = most

    def run(self, look: Look) -> Iterator[Change]:
        return islice(self._run(look), self._most)

    def _run(self, look: Look) -> Iterator[Change]:
        start = self._start
        last = self._travel.last_event if self._end is None else self._end.event
        if start.event > last:
            return
        jobs = 1 if self._leave is not None else self._travel.jobs
        cuts = cuts_between(jobs, start.event, last)
        if cuts:
            cuts.append(last)
            yield from self._pieces(start, cuts, look)
            start = Position(cuts[-1])
        yield from self._alone(start, last, look)

    def _pieces(self, start: Position, cuts: list[int], look: Look) -> Iterator[Change]:
        """Changes from START to the last cut.  A leading walker forks a walker at each cut."""
        lead = self._travel.to(start)
        with side_by_side(SideBySide[bool](self._travel.jobs)) as group:
            found: list[list[Change]] = [[] for _ in cuts]
            stopped = threading.Event()
            done = 0
            try:
                for number, cut in enumerate(cuts):
                    try:
                        look(number / len(cuts))
                        piece = lead.fork()
                        group.add(partial(self._piece, piece, cut, found[number], stopped), piece)
                        if cut != cuts[-1]:
                            lead = ahead(self._travel, lead, cut)
                    except Interrupted:
                        stopped.set()
                        break
                    while done < number and group.tasks[done].wait(0):
                        done += 1
                        yield from self._joined(group.tasks[done - 1], found[done - 1])
            finally:
                lead.close()
            for task, changes in list(zip(group.tasks, found, strict=False))[done:]:
                try:
                    while not stopped.is_set() and not task.wait(_LOOK_S):
                        look(1.0)
                except Interrupted:
                    stopped.set()
                yield from self._joined(task, changes)
            if stopped.is_set():
                raise Interrupted

    @staticmethod
    def _joined(task: Task[bool], changes: list[Change]) -> Iterator[Change]:
        whole = task.result()
        yield from changes
        if not whole:
            raise Interrupted

    def _piece(
        self, walker: Walker, until: int, found: list[Change], stopped: threading.Event
    ) -> bool:
        """Fills in `found`; False: it was stopped before the end."""
        self._arm(walker)
        at = _At(walker.position, walker.agent.read(self._addr, self._length))
        most = 1
        while walker.live_event < until and len(found) < self._most:
            if stopped.is_set():
                return False
            began = time.monotonic()
            try:
                stop, changes = self._forward(walker, until, most)
            except Interrupted:
                return False
            found += at.taken(changes, (self._addr, self._length))
            if stop is None:
                return False
            at.stopped(stop)
            most = _next_most(most, began)
        return True

    def _alone(self, start: Position, last: int, look: Look) -> Iterator[Change]:
        walker = self._travel.to(start)
        try:
            self._arm(walker)
            at = _At(start, walker.agent.read(self._addr, self._length))
            inside = False  # in the interval that holds the end
            left = FOREVER  # changes in it that are still to come
            most = 1
            while left:
                look((walker.live_event - start.event) / max(last - start.event, 1))
                if not inside and walker.live_event == last:
                    inside = True
                    if self._end is not None:
                        left = self._left(walker, at.base, self._end)
                        continue
                began = time.monotonic()
                until = FOREVER if inside else self._leg(walker, last)
                stop, changes = self._forward(walker, until, min(most, left))
                yield from at.taken(changes, (self._addr, self._length))
                if stop is None:
                    raise Interrupted
                if stop.reason in ENDED or stop.reason is StopReason.BREAK:
                    return
                at.stopped(stop)
                left -= len(changes) if inside else 0
                most = _next_most(most, began)
        finally:
            walker.close()

    def _leg(self, walker: Walker, last: int) -> int:
        """The event to run to: a part of a long way, so that progress is shown."""
        return min(walker.live_event + max((last - self._start.event) // _LEGS, 1), last)

    def _arm(self, walker: Walker) -> None:
        walker.agent.watch(_WATCH_ID, self._addr, self._length)
        if self._leave is not None:
            walker.agent.set_break(_LEAVE_ID, self._leave.addr, stop=True, cond=self._leave.cond)

    def _forward(self, walker: Walker, until: int, most: int) -> tuple[Stop | None, list[Changed]]:
        """Runs over at most MOST changes, or to an event.  Stop None: it was interrupted."""
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
        return stop, [Changed(stop.event, stop.gpr.pc, bool(stop.by_event), now)]

    def _left(self, walker: Walker, here: Position, end: Position) -> int:
        """How many changes are between HERE, in the interval of END, and END."""
        if here.event != end.event:
            here = Position(end.event)
        travel = self._travel
        pc = travel.gpr_at(end).pc
        probe = travel.to(here)
        try:
            probe.agent.watch(_WATCH_ID, self._addr, self._length)
            event, until_pc, n = travel.goal(probe, end, pc)
            if not until_pc or n <= 0:
                return 0
            stop = probe.run(event, until_pc, n, scan=True)
            if stop.reason is not StopReason.TARGET:
                raise Diverged(f"the replay did not reach position {end} from {here}")
            return stop.scan.total
        finally:
            probe.close()
