"""Stop points: numbered states to which the rank can return.

In the recording a stop point is a position and costs nothing.  In a branch it is a stopped copy of
the replica; only the newest copies are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rdb.errors import RdbError, Usage
from rdb.replay.snapshots import available_memory
from rdb.timeline.branches import BranchPoint
from rdb.timeline.position import Position, ToEnd
from rdb.timeline.stopped import Stopped
from rdb.timeline.timeline import Timeline

_KEPT_MAX = 64
_KEPT_SCARCE = 8  # if memory is short


@dataclass(frozen=True)
class StopPoint:
    """A state.  `position` is the timeline's own: its canonical name could cost a replay."""

    number: int
    position: Position
    branch: int  # number of the branch; 0: in the recording
    serial: int
    signalled: int  # Timeline.signalled


class StopPoints:
    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._points: list[StopPoint] = []
        self._by_serial: dict[int, StopPoint] = {}
        self._kept: dict[int, BranchPoint] = {}  # by number of the stop point, oldest first
        self.serial = 0  # of the present state
        self._made = 0

    def close(self) -> None:
        for point in self._kept.values():
            point.close()
        self._kept.clear()

    def changed(self) -> None:
        """Call it when the rank was moved or changed: the present state is a new stop point."""
        self._made += 1
        self.serial = self._made

    def here(self) -> StopPoint:
        known = self._by_serial.get(self.serial)
        if known is not None:
            return known
        timeline = self._timeline
        point = StopPoint(
            len(self._points),
            timeline.position,
            timeline.branch_number,
            self.serial,
            timeline.signalled,
        )
        if point.branch:
            self._kept[point.number] = timeline.keep_branch()
            self._drop_oldest(_KEPT_SCARCE if available_memory() < 0.1 else _KEPT_MAX)
        self._points.append(point)
        self._by_serial[point.serial] = point
        return point

    def _drop_oldest(self, limit: int) -> None:
        while len(self._kept) > limit:
            self._kept.pop(next(iter(self._kept))).close()

    def name_end(self) -> None:
        """The recording has grown: stop points at its old end get the position of that place."""
        named: Position | None = None
        for number, point in enumerate(self._points):
            moves = point.position.moves
            if not point.branch and moves and isinstance(moves[-1], ToEnd):
                named = named or self._timeline.end_position
                self._points[number] = replace(point, position=named)
                if self._by_serial.get(point.serial) == point:
                    self._by_serial[point.serial] = self._points[number]

    def kept(self) -> list[int]:
        """Numbers of the stop points in branches that are kept."""
        return list(self._kept)

    def drop_branch(self, branch: int) -> None:
        for number in [n for n in self._kept if self._points[n].branch == branch]:
            self._kept.pop(number).close()

    def seek(self, word: str) -> Stopped:
        """Goes to stop point N; WORD is `@N`.  Raises Usage, or RdbError if it was not kept."""
        try:
            point = self._points[int(word[1:])]
        except (ValueError, IndexError):
            raise Usage(f"{word!r} is not a stop point") from None
        if not point.branch:
            self.changed()
            stopped = self._timeline.seek(point.position)
            if stopped.reason == "seek":
                self._timeline.signalled = point.signalled
            return stopped
        kept = self._kept.get(point.number)
        if kept is None:
            raise RdbError("this state of the branch was not kept", "undo more commands")
        stopped = self._timeline.enter_branch(kept)
        self.serial, self._timeline.signalled = point.serial, point.signalled
        return stopped
