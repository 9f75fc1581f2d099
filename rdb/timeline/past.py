"""The instructions before the position; stepping back over them needs no run of a replica."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from rdb.replay.agent import Gpr
from rdb.timeline.backlog import Backlog
from rdb.timeline.before import Trace
from rdb.timeline.points import Points
from rdb.timeline.position import Position, Steps
from rdb.timeline.recent import breakpoints_by_place, holding, recent_hit

_KEPT_MAX = 4096

Entry = tuple[Position, int, Gpr]  # a position, steps after it, the registers there


class Past:
    """Remembered instructions, newest last.  Older ones are fetched from a backlog when needed."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._backlog: Backlog | None = None
        self._older = 0  # steps of the backlog before this one have not been fetched

    def __bool__(self) -> bool:
        return bool(self._entries) or self._fetch()

    @property
    def last(self) -> Entry:
        if not self:
            raise IndexError("no earlier position is known")
        return self._entries[-1]

    def pop(self) -> Entry:
        entry = self.last
        self._entries.pop()
        return entry

    def append(self, entry: Entry) -> None:
        if len(self._entries) == _KEPT_MAX:
            self._entries.popleft()
            self._backlog = None
        self._entries.append(entry)

    def clear(self) -> None:
        self._entries.clear()
        self._backlog = None

    def extend(self, trace: Trace) -> None:
        """Sets the instructions to a trace that ends at the position."""
        self._entries.extend((trace.base, index, gpr) for index, gpr in enumerate(trace.gprs))
        self._backlog = trace.backlog
        if trace.backlog is not None:
            self._older = trace.backlog.step(trace.base) or 0

    def oldest(self) -> tuple[Position, Gpr] | None:
        """The oldest position that can be reached without running a replica."""
        if self._backlog is not None and self._older > self._backlog.first:
            first = self._backlog.first
            return self._backlog.position(first), self._backlog.before(first + 1)[-1]
        if not self._entries:
            return None
        base, index, gpr = self._entries[0]
        return _position(base, index), gpr

    def _fetch(self) -> bool:
        if self._backlog is None or self._older <= self._backlog.first:
            return False
        gprs = self._backlog.before(self._older)
        self._older -= len(gprs)
        start = self._backlog.position(0)
        self._entries.extendleft(
            (start, self._older + index, gpr) for index, gpr in reversed(list(enumerate(gprs)))
        )
        return bool(gprs)

    def back_out(self, first: int, end: int, places: Collection[int]) -> tuple[Position, Gpr]:
        """Goes back to the last instruction outside of these addresses, or at one of PLACES; if
        none is remembered, to the oldest one."""
        index, gpr = 0, None
        while self._entries:
            base, index, gpr = self._entries.pop()
            if not first <= gpr.pc < end or gpr.pc in places:
                return _position(base, index), gpr
        backlog = self._backlog
        if backlog is None or self._older <= backlog.first:
            assert gpr is not None
            return _position(base, index), gpr
        steps = [backlog.last_outside(first, end, self._older)]
        steps += [backlog.last_at(pc, self._older) for pc in places if first <= pc < end]
        self._older = max((step for step in steps if step is not None), default=backlog.first)
        return backlog.position(self._older), backlog.before(self._older + 1)[-1]

    def back_to_hit(self, points: Points) -> tuple[Position, Gpr, int] | None:
        """Goes back to the last hit of a breakpoint: position, registers, id; None: there is
        none."""
        found = recent_hit(points, (gpr for _, _, gpr in reversed(self._entries)))
        if found is None:
            return self._older_hit(points)
        back, id_ = found
        for _ in range(back):
            base, index, gpr = self._entries.pop()
        return _position(base, index), gpr, id_

    def _older_hit(self, points: Points) -> tuple[Position, Gpr, int] | None:
        if self._backlog is None:
            return None
        places = breakpoints_by_place(points)
        index = self._older
        while True:
            steps = [self._backlog.last_at(pc, index) for pc in places]
            index = max((step for step in steps if step is not None), default=-1)
            if index < 0:
                return None
            gpr = self._backlog.before(index + 1)[-1]
            id_ = holding(places[gpr.pc], gpr)
            if id_:
                self._entries.clear()
                self._older = index
                return self._backlog.position(index), gpr, id_


def _position(base: Position, index: int) -> Position:
    return base.then(Steps(index)) if index else base
