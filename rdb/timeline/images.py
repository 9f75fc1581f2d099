"""The recording's checkpoints as starts of replicas: the coarse grid of snapshots."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rdb.errors import DamagedRecording
from rdb.recording import RankRecording
from rdb.recording.checkpoints import Checkpoint
from rdb.replay.replica import CannotStart, Replica
from rdb.timeline.position import Position
from rdb.timeline.walker import Control, Walker
from rdb.undoing import on_failure

_WORTH_S = 0.05  # least recorded time that starting from an image must save


def first_replica(recording: RankRecording) -> tuple[Replica, list[str]]:
    """A replica at the first usable image, and messages about what is lost before it.

    Raises CannotStart if no image can be used.
    """
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
        return replica, [f"the events before {begins} are lost: {cause}"]
    assert refused is not None
    raise refused


class Images:
    """The images of a recording.  START makes a replica of image number N."""

    def __init__(self, checkpoints: Sequence[Checkpoint], start: Callable[[int], Replica]) -> None:
        self._start = start
        self.lost: list[str] = []
        """Why images cannot be used."""
        self._use(sorted(checkpoints, key=lambda one: one.event))
        self._first_ns = self._checkpoints[0].at_ns if self._checkpoints else 0

    def _use(self, checkpoints: list[Checkpoint]) -> None:
        self._checkpoints = checkpoints
        self._events = [one.event for one in checkpoints]

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Context in which a refused image is not dropped, because the user is not told of it."""
        before, lost = self._checkpoints, list(self.lost)
        try:
            yield
        finally:
            self._use(before)
            self.lost = lost

    def _at_s(self, one: Checkpoint) -> float:
        return (one.at_ns - self._first_ns) / 1e9

    def between(self, best: Walker, target: Position, strictly: bool) -> Checkpoint | None:
        """The newest image on the way from snapshot BEST to TARGET; None: it would save no time."""
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
        """A walker at an image; None: it cannot be used, and is dropped from the list."""
        try:
            replica = self._start(one.number)
        except CannotStart as error:
            self._use([other for other in self._checkpoints if other != one])
            self.lost.append(f"an older checkpoint is used: {error.cause}")
            return None
        with on_failure(replica.close):
            gpr = replica.agent.get_regs().gpr
        return Walker(replica, Position(one.event), gpr, control, self._at_s(one))
