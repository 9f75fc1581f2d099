"""Marks: places to come back to, numbered.

In the recording a mark is a position and costs nothing.  In a branch it holds a stopped copy of the
replica; only so many are kept, the newest ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rdb.errors import RdbError, Usage
from rdb.replay.snapshots import available_memory
from rdb.server.target import Debuggee, StoppedLike
from rdb.timeline.branches import BranchPoint
from rdb.timeline.position import Position, ToEnd

_KEPT_MAX = 64
_KEPT_SCARCE = 8  # where memory is short


@dataclass(frozen=True)
class Mark:
    """The timeline's own position, not its name, which may cost a replay."""

    number: int
    position: Position
    branch: int  # its number; 0: in the recording
    serial: int


class Marks:
    def __init__(self, timeline: Debuggee) -> None:
        self._timeline = timeline
        self._marks: list[Mark] = []
        self._by_serial: dict[int, Mark] = {}
        self._kept: dict[int, BranchPoint] = {}  # by the mark's number, the oldest first
        self.serial = 0  # of the present state
        self._made = 0

    def close(self) -> None:
        for point in self._kept.values():
            point.close()
        self._kept.clear()

    def changed(self) -> None:
        """The rank is not where (or what) it was: marks made before are of another state."""
        self._made += 1
        self.serial = self._made

    def here(self) -> Mark:
        known = self._by_serial.get(self.serial)
        if known is not None:
            return known
        timeline = self._timeline
        mark = Mark(len(self._marks), timeline.position, timeline.branch_number, self.serial)
        if mark.branch:
            self._kept[mark.number] = timeline.keep_branch()
            self._drop_oldest(_KEPT_SCARCE if available_memory() < 0.1 else _KEPT_MAX)
        self._marks.append(mark)
        self._by_serial[mark.serial] = mark
        return mark

    def _drop_oldest(self, limit: int) -> None:
        while len(self._kept) > limit:
            self._kept.pop(next(iter(self._kept))).close()

    def name_end(self) -> None:
        """What was the end will be a place like others: the marks of it get its name."""
        named: Position | None = None
        for number, mark in enumerate(self._marks):
            moves = mark.position.moves
            if not mark.branch and moves and isinstance(moves[-1], ToEnd):
                named = named or self._timeline.end_position
                self._marks[number] = replace(mark, position=named)
                if self._by_serial.get(mark.serial) == mark:
                    self._by_serial[mark.serial] = self._marks[number]

    def kept(self) -> list[int]:
        """Numbers of the marks in branches that one can come back to."""
        return list(self._kept)

    def drop_branch(self, branch: int) -> None:
        for number in [n for n in self._kept if self._marks[n].branch == branch]:
            self._kept.pop(number).close()

    def seek(self, word: str) -> StoppedLike:
        """`@N`: to mark N."""
        try:
            mark = self._marks[int(word[1:])]
        except (ValueError, IndexError):
            raise Usage(f"{word!r} is not a mark") from None
        if not mark.branch:
            self.changed()
            return self._timeline.seek(mark.position)
        point = self._kept.get(mark.number)
        if point is None:
            raise RdbError("that state of the branch has not been kept", "undo further")
        stopped = self._timeline.enter_branch(point)
        self.serial = mark.serial
        return stopped
