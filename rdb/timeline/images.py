"""The recording's own checkpoints as places to start from: the coarse grid of snapshots."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rdb.errors import RdbError
from rdb.recording.checkpoints import Checkpoint
from rdb.timeline.position import Position
from rdb.timeline.walker import Control, ReplicaLike, Walker

_WORTH_S = 0.05  # of the recorded time that is not run through again


class Images:
    """`start` makes a replica of an image; times are counted from the first image on."""

    def __init__(
        self, checkpoints: Sequence[Checkpoint], start: Callable[[int], ReplicaLike]
    ) -> None:
        self._start = start
        self._use(sorted(checkpoints, key=lambda one: one.event))
        self._first_ns = self._checkpoints[0].at_ns if self._checkpoints else 0

    def _use(self, checkpoints: list[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._events = [one.event for one in checkpoints]

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """An image that is refused meanwhile is not dropped: nobody has been told."""
        before = self._checkpoints
        try:
            yield
        finally:
            self._use(before)

    def _at_s(self, one: Checkpoint) -> float:
        return (one.at_ns - self._first_ns) / 1e9

    def between(self, best: Walker, target: Position, strictly: bool) -> Checkpoint | None:
        """The newest image on the way from a snapshot to `target`, if that saves time."""
        found = bisect.bisect_right(self._events, target.event)
        while found > 0:
            found -= 1
            one = self._checkpoints[found]
            if one.event <= best.event or self._at_s(one) - best.at_s < _WORTH_S:
                return None
            rest = target.after(Position(one.event))
            if one.event < target.event or (rest is not None and (rest or not strictly)):
                return one
        return None

    def walker(self, one: Checkpoint, control: Control) -> Walker:
        """An image that cannot be used is refused once; afterwards an older one leads there."""
        try:
            replica = self._start(one.number)
        except RdbError:
            self._use([other for other in self._checkpoints if other != one])
            raise
        try:
            gpr = replica.agent.get_regs().gpr
        except BaseException:
            replica.close()
            raise
        return Walker(replica, Position(one.event), gpr, control, self._at_s(one))
