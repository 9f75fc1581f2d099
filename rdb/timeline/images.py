"""The recording's own checkpoints as places to start from: the coarse grid of snapshots."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence

from rdb.recording.checkpoints import Checkpoint
from rdb.timeline.position import Position
from rdb.timeline.walker import Control, ReplicaLike, Walker

_WORTH_S = 0.05  # of the recorded time that is not run through again


class Images:
    """`start` makes a replica of an image; times are counted from the first image on."""

    def __init__(
        self, checkpoints: Sequence[Checkpoint], start: Callable[[int], ReplicaLike]
    ) -> None:
        self._checkpoints = sorted(checkpoints, key=lambda one: one.event)
        self._events = [one.event for one in self._checkpoints]
        self._start = start

    def _at_s(self, one: Checkpoint) -> float:
        return (one.at_ns - self._checkpoints[0].at_ns) / 1e9

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
        replica = self._start(one.number)
        try:
            gpr = replica.agent.get_regs().gpr
        except BaseException:
            replica.close()
            raise
        return Walker(replica, Position(one.event), gpr, control, self._at_s(one))
