"""The threads of a program, and which of them ran when, from the index of the log.

Between two events only the thread of the earlier one runs.  After the end of a thread no thread
runs until the next event, nor after a PREEMPT record, unless the thread goes on at once: then no
RESUME record of it follows (interposer/task/turns.c).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Container, Iterable
from typing import NamedTuple

from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind, Note

MAIN = 1
NOBODY = 0  # no thread runs: one was preempted
_GONE = -1  # no thread runs: one has ended
_SYS_CLONE, _SYS_EXIT, _SYS_CLONE3 = 56, 60, 435
_NOTE_THREAD = struct.Struct("<I")


class RecordedThread(NamedTuple):
    """A thread.  Numbers follow the order of creation and are not used again."""

    number: int
    tid: int
    first_event: int  # the one that created it
    last_event: int | None  # that ended it; None: it lived until the end


class Schedule:
    """Which thread runs after which event.  A sequence of events in which the same threads take
    turns is one entry, whatever its length."""

    def __init__(
        self, runs: Iterable[tuple[int, int]] = ((0, MAIN),), going_on: Container[int] = ()
    ) -> None:
        """RUNS: (event, the thread that runs from that event on).  GOING_ON: PREEMPT records after
        which their thread runs at once."""
        self._starts: list[int] = []
        self._turns: list[tuple[int, ...]] = []
        """Per entry: the threads that run after its events, in turn."""
        self._counts: dict[int, int] = {}
        """Entry with several threads -> number of its events.  After them the last thread goes
        on."""
        self._of: dict[int, list[int]] = {}  # thread -> entries in which it runs
        self._going_on = going_on
        for event, thread in runs:
            self.add(event, 1, (thread,))

    def add(self, event: int, count: int, turns: tuple[int, ...]) -> None:
        """After COUNT events, beginning with EVENT, these threads run in turn."""
        turns = turns[: 1 if len(set(turns)) == 1 else count]
        if self._turns and len(turns) == 1 and self._turns[-1] == turns:
            return
        for thread in set(turns):
            self._of.setdefault(thread, []).append(len(self._starts))
        if len(turns) > 1:
            self._counts[len(self._starts)] = count
        self._starts.append(event)
        self._turns.append(turns)

    @property
    def plain(self) -> bool:
        """Did one thread run from the beginning to the end?"""
        return len(self._starts) == 1 and not self._counts and not self._going_on

    @property
    def threaded(self) -> bool:
        """Is there more than one thread?"""
        return sum(thread >= MAIN for thread in self._of) > 1

    def runner(self, event: int) -> int:
        """The thread that runs after this event; below 1: no thread."""
        entry = max(bisect_right(self._starts, event) - 1, 0)
        turns = self._turns[entry]
        return turns[self._turn(entry, event) % len(turns)]

    def preempted(self, event: int) -> bool:
        """Did this event stop a thread in a computation?"""
        return self.runner(event) == NOBODY or event in self._going_on

    def idle(self, event: int) -> bool:
        """Does no thread run after this event?"""
        return self.runner(event) < MAIN

    def last_run(self, thread: int, event: int) -> int | None:
        """The newest event up to this one after which the thread runs."""
        entries = self._of.get(thread, [])
        at = bisect_right(entries, event, key=self._starts.__getitem__) - 1
        while at >= 0:
            entry = entries[at]
            following = entry + 1
            end = self._starts[following] - 1 if following < len(self._starts) else event
            found = self._last_turn(entry, thread, min(end, event))
            if found is not None:
                return found
            at -= 1  # its first turn in that entry is later
        return None

    def next_run(self, thread: int, event: int) -> int | None:
        """The first event from this one on after which the thread runs."""
        if self.runner(event) == thread:
            return event
        entries = self._of.get(thread, [])
        at = max(bisect_right(entries, event, key=self._starts.__getitem__) - 1, 0)
        for entry in entries[at : at + 2]:  # in the entry of the event it may not run again
            found = self._next_turn(entry, thread, event)
            if found is not None:
                return found
        return None

    def _turn(self, entry: int, event: int) -> int:
        last = self._counts.get(entry, 1) - 1
        return min(max(event - self._starts[entry], 0), last)

    def _last_turn(self, entry: int, thread: int, event: int) -> int | None:
        turns, last = self._turns[entry], self._turn(entry, event)
        for turn in range(last, max(last - len(turns), -1), -1):
            if turns[turn % len(turns)] == thread:
                return event if turn == last else self._starts[entry] + turn
        return None

    def _next_turn(self, entry: int, thread: int, event: int) -> int | None:
        turns, count = self._turns[entry], self._counts.get(entry, 1)
        first = max(event - self._starts[entry], 0)
        for turn in range(first, min(first + len(turns), count)):
            if turns[turn % len(turns)] == thread:
                return self._starts[entry] + turn
        return None


def read_schedule(index: LogIndex) -> Schedule:
    if index.highest_thread() <= MAIN and not index.of_kind(Kind.PREEMPT):
        return Schedule()

    def runner(kind: int, thread: int, number: int) -> int:
        if kind == Kind.PREEMPT:
            return NOBODY
        return _GONE if kind == Kind.SYSCALL and number == _SYS_EXIT else thread

    going_on: set[int] = set()
    schedule = Schedule((), going_on)
    switches = index.switches()
    following = next(switches, None)
    while following is not None:
        event, count, said = following
        following = next(switches, None)
        runners = tuple(runner(*one) for one in said)
        if runners == (NOBODY,) and following is not None:
            kind, thread, _ = following[2][0]
            if thread == said[0][1] and kind not in (Kind.RESUME, Kind.SIGNAL):
                runners = (thread,)
                going_on.add(event)
        schedule.add(event, count, runners)
    return schedule


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
