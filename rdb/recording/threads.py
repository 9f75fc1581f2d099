"""Which threads a program had, and which of them ran when: from the log's index.

Between two events exactly one thread runs: that of the earlier one.  Only after a thread was
stopped in a computation, or has ended, nobody does, until the next event says who goes on.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from rdb.recording._log import LogIndex
from rdb.recording.record import Kind, Note

MAIN = 1
NOBODY = 0  # one was stopped in a computation
_GONE = -1  # nobody either: one has ended
_SYS_CLONE, _SYS_EXIT, _SYS_CLONE3 = 56, 60, 435
_NOTE_THREAD = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class RecordedThread:
    """Numbers are given in order of creation and never again."""

    number: int
    tid: int
    first_event: int  # the one that created it
    last_event: int | None  # with which it ended; None: it was there until the end


class Schedule:
    """`runs` are (event, thread): from that event on it is this thread that runs."""

    def __init__(self, runs: Iterable[tuple[int, int]] = ((0, MAIN),)) -> None:
        self._starts: list[int] = []
        self._runners: list[int] = []
        self._of: dict[int, list[int]] = {}  # thread -> places in the two lists above
        for event, thread in runs:
            if not self._runners or self._runners[-1] != thread:
                self._of.setdefault(thread, []).append(len(self._starts))
                self._starts.append(event)
                self._runners.append(thread)

    @property
    def plain(self) -> bool:
        """Did one thread run all the time?"""
        return len(self._starts) == 1

    @property
    def threaded(self) -> bool:
        """Is there more than one thread?"""
        return sum(thread >= MAIN for thread in self._of) > 1

    def runner(self, event: int) -> int:
        """Who runs after this event; nobody: below 1."""
        return self._runners[max(bisect_right(self._starts, event) - 1, 0)]

    def preempted(self, event: int) -> bool:
        """Did this event stop a thread in a computation?"""
        return self.runner(event) == NOBODY

    def idle(self, event: int) -> bool:
        """Does nobody run after this event?"""
        return self.runner(event) < MAIN

    def last_run(self, thread: int, event: int) -> int | None:
        """The newest event up to this one after which the thread runs."""
        places = self._of.get(thread, [])
        at = bisect_right(places, event, key=self._starts.__getitem__) - 1
        if at < 0:
            return None
        following = places[at] + 1
        end = self._starts[following] - 1 if following < len(self._starts) else event
        return min(end, event)

    def next_run(self, thread: int, event: int) -> int | None:
        """The first event from this one on after which the thread runs."""
        if self.runner(event) == thread:
            return event
        places = self._of.get(thread, [])
        at = bisect_left(places, event, key=self._starts.__getitem__)
        return self._starts[places[at]] if at < len(places) else None


def read_schedule(index: LogIndex) -> Schedule:
    if index.highest_thread() <= MAIN and not index.of_kind(Kind.PREEMPT):
        return Schedule()

    def runner(kind: int, thread: int, number: int) -> int:
        if kind == Kind.PREEMPT:
            return NOBODY
        return _GONE if kind == Kind.SYSCALL and number == _SYS_EXIT else thread

    return Schedule((event, runner(*said)) for event, *said in index.switches())


def read_threads(index: LogIndex, main_tid: int) -> list[RecordedThread]:
    """All threads in order of their numbers."""
    born = {MAIN: (main_tid, 0)}
    died: dict[int, int] = {}
    if index.highest_thread() > MAIN:
        for place in index.of_calls(_SYS_CLONE, _SYS_CLONE3, _SYS_EXIT):
            record = index.record(place)
            if record.nr == _SYS_EXIT:
                died[record.thread] = record.event
                continue
            for chunk in record.chunks:
                if chunk.addr == 0 and chunk.note == Note.THREAD:
                    (number,) = _NOTE_THREAD.unpack_from(chunk.data)
                    born[number] = (record.result, record.event)
    return [RecordedThread(number, *born[number], died.get(number)) for number in sorted(born)]
