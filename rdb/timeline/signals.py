"""The signals that the program handles: where the log delivers them, and which of them stop.

A delivery is an event without an instruction: the state before it is the answer of the event
before, the state after it the handler's first instruction.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from rdb.recording import Kind, RankRecording, Record
from rdb.recording.log.syscalls import SYSCALLS
from rdb.timeline.position import Position
from rdb.timeline.walker import FAULTS, faults_of

_SIGACTION = next(number for number, (name, _) in SYSCALLS.items() if name == "rt_sigaction")


class Delivery(NamedTuple):
    event: int
    signal: int
    thread: int

    @property
    def position(self) -> Position:
        """Just before it."""
        return Position(self.event - 1)


class Heard(NamedTuple):
    """Where a motion stops: at deliveries of signals that are not PASSED, and where the program
    handles a fault of an instruction that is none of PASSED_FAULTS.  A thread that is
    STEPPED stops at each of its own, so that who steps it knows where the handler comes from."""

    passed: frozenset[int]
    passed_faults: frozenset[int]
    stepped: int = 0

    def stops(self, one: Delivery) -> bool:
        return one.signal not in self.passed or one.thread == self.stepped


class Deliveries:
    """Of one recording; the log is read when they are asked for."""

    def __init__(self, recording: RankRecording | None) -> None:
        self._recording = recording

    def renew(self) -> None:
        """The recording has grown."""
        for name in ("_all", "_by_signal", "faults"):
            self.__dict__.pop(name, None)

    @cached_property
    def _all(self) -> dict[int, Delivery]:
        if self._recording is None:
            return {}
        index, found = self._recording.index, {}
        for place in index.of_kind(Kind.SIGNAL):
            _, first, repeat = index.brief(place)
            signal, thread = index.number(place), index.thread(place)
            for event in range(first, first + repeat + 1):
                found[event] = Delivery(event, signal, thread)
        return found

    @cached_property
    def _by_signal(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for one in self._all.values():
            found.setdefault(one.signal, []).append(one.event)
        return found

    @cached_property
    def faults(self) -> frozenset[int]:
        """Signals of instructions' faults for which the program may have had a handler."""
        recording = self._recording
        if recording is None or recording.first_event > 0:
            return frozenset(FAULTS)
        places = recording.index.of_calls(_SIGACTION)
        calls = (recording.index.record(place).args for place in places)
        return frozenset(FAULTS) & {args[0] & 0xFFFFFFFF for args in calls if args[1]}

    def at(self, event: int) -> Delivery | None:
        return self._all.get(event)

    def record(self, one: Delivery) -> Record:
        assert self._recording is not None
        return self._recording.event(one.event)

    def first(self, heard: Heard, since: int) -> Delivery | None:
        """The first one from event SINCE on that is heard of without a step."""
        events = self._heard(heard)
        found = min(
            (at[low] for at in events if (low := bisect.bisect_left(at, since)) < len(at)),
            default=None,
        )
        return None if found is None else self._all[found]

    def last(self, heard: Heard, until: int) -> Delivery | None:
        """The last one up to event UNTIL that is heard of without a step."""
        events = self._heard(heard)
        found = max(
            (at[high - 1] for at in events if (high := bisect.bisect_right(at, until))),
            default=None,
        )
        return None if found is None else self._all[found]

    def faults_heard(self, heard: Heard) -> int:
        return faults_of(self.faults - heard.passed_faults)

    def _heard(self, heard: Heard) -> Iterable[list[int]]:
        return [at for signal, at in self._by_signal.items() if signal not in heard.passed]
