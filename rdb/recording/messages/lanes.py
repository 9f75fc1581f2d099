"""What the ranks of a job did over its recorded time, in a few columns, from the logs alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntFlag

from rdb.errors import RdbError
from rdb.recording.mpi.communication import RankCommunication, What
from rdb.recording.rank import RankRecording


class Mark(IntFlag):
    """What happened in a column besides plain events."""

    SEND = 1
    RECEIVE = 2
    COLLECTIVE = 4
    CHECKPOINT = 8


@dataclass(frozen=True)
class Span:
    """A span of recorded time (CLOCK_REALTIME, ns).  `base_ns`: when the job began; seconds that
    the user sees count from there."""

    base_ns: int
    first_ns: int
    last_ns: int

    def column(self, at_ns: int, width: int) -> int | None:
        """Index of the column, out of `width`, that holds a time; None: not in this span."""
        if not self.first_ns <= at_ns <= self.last_ns:
            return None
        length = max(self.last_ns - self.first_ns, 1)
        return min((at_ns - self.first_ns) * width // length, width - 1)

    def part(self, first_s: float, last_s: float) -> Span:
        """The span between two times, in seconds since the job began."""
        return Span(
            self.base_ns, self.base_ns + int(first_s * 1e9), self.base_ns + int(last_s * 1e9)
        )


@dataclass(frozen=True)
class Lane:
    """One rank: number and kinds of events in each column; HERE: column of its position."""

    events: tuple[int, ...]
    marks: tuple[Mark, ...]
    here: int | None = None


class RankTimes:
    """When a rank's events were answered.  Raises RdbError if nothing is recorded yet."""

    def __init__(self, recording: RankRecording) -> None:
        index = recording.index
        self.events: list[int] = []
        self.at_ns: list[int] = []
        self._repeats: list[int] = []
        for event, at_ns, repeat in index.event_times():
            self.events.append(event)
            self.at_ns.append(at_ns)
            self._repeats.append(repeat)
        if not self.events:
            raise RdbError("nothing is recorded yet")
        self.images = [one.at_ns for one in recording.images if one.at_ns]
        kinds = {What.SEND: Mark.SEND, What.RECV: Mark.RECEIVE, What.CALL: Mark.COLLECTIVE}
        self._messages = [
            (item.at_ns, kinds[What(item.what)])
            for item in RankCommunication(recording.path).items()
            if item.what in kinds
        ]

    def when(self, event: int) -> int:
        """The time of an event."""
        return self.at_ns[max(bisect_right(self.events, event) - 1, 0)]

    def lane(self, span: Span, width: int, event: int) -> Lane:
        """The rank's lane, if its position is EVENT."""
        counts, marks = [0] * width, [Mark(0)] * width
        for at_ns, repeat in zip(self.at_ns, self._repeats, strict=True):
            column = span.column(at_ns, width)
            if column is not None:
                counts[column] += repeat + 1
        for at_ns, kind in self._messages:
            column = span.column(at_ns, width)
            if column is not None:
                marks[column] |= kind
        for at_ns in self.images:
            column = span.column(at_ns, width)
            if column is not None:
                marks[column] |= Mark.CHECKPOINT
        return Lane(tuple(counts), tuple(marks), span.column(self.when(event), width))


def whole(times: Iterable[RankTimes]) -> Span:
    """The span from the first event of these ranks to the last."""
    known = list(times)
    first = min(one.at_ns[0] for one in known)
    return Span(first, first, max(one.at_ns[-1] for one in known))
