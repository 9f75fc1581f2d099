"""The recording's own checkpoints as places to start from: the coarse grid of snapshots."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rdb.errors import DamagedRecording
from rdb.recording.checkpoints import Checkpoint
from rdb.replay.replica import CannotStart, Replica, Source
from rdb.timeline.position import Position
from rdb.timeline.walker import Control, ReplicaLike, Walker

_WORTH_S = 0.05  # of the recorded time that is not run through again


def first_replica(recording: Source) -> tuple[Replica, list[str]]:
    """Where the recording begins, which is later if its first images cannot be used: then what is
    lost is said."""
    refused: CannotStart | None = None
    missing = recording.no_beginning
    cause = missing.message if isinstance(missing, DamagedRecording) else None
    for number in [None, *(one.number for one in recording.images[1:])]:
        try:
            replica = Replica.start(recording, number)
        except CannotStart as error:
            refused = refused or error
            if not error.of_image:
                break
            continue
        cause = refused.cause if refused is not None else cause
        if cause is None:
            return replica, []
        begins = replica.agent.hello().event
        return replica, [f"what was before event {begins} is lost: {cause}"]
    assert refused is not None
    raise refused


class Images:
    """`start` makes a replica of an image; times are counted from the first image on."""

    def __init__(
        self, checkpoints: Sequence[Checkpoint], start: Callable[[int], ReplicaLike]
    ) -> None:
        self._start = start
        self.lost: list[str] = []
        """Of images that cannot be used, why."""
        self._use(sorted(checkpoints, key=lambda one: one.event))
        self._first_ns = self._checkpoints[0].at_ns if self._checkpoints else 0

    def _use(self, checkpoints: list[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._events = [one.event for one in checkpoints]

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """An image that is refused meanwhile is not dropped: nobody has been told."""
        before, lost = self._checkpoints, list(self.lost)
        try:
            yield
        finally:
            self._use(before)
            self.lost = lost

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

    def walker(self, one: Checkpoint, control: Control) -> Walker | None:
        """None: it cannot be used.  It is not asked for again; an older one leads there."""
        try:
            replica = self._start(one.number)
        except CannotStart as error:
            self._use([other for other in self._checkpoints if other != one])
            self.lost.append(f"an older checkpoint is used: {error.cause}")
            return None
        try:
            gpr = replica.agent.get_regs().gpr
        except BaseException:
            replica.close()
            raise
        return Walker(replica, Position(one.event), gpr, control, self._at_s(one))
