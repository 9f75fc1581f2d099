"""Where the records of a log are: by kind, by call, by event."""

from __future__ import annotations

import bisect
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from rdb.recording.log.entries import (
    ENTRY_HALVES,
    ENTRY_NUMBERS,
    ENTRY_WORDS,
    KIND,
    KIND_HALF,
    NARGS,
    NR,
    PLACE,
    REPEAT,
    THREAD,
    TURNS,
    LogEntries,
)
from rdb.recording.log.library import ENTRY
from rdb.recording.log.record import Kind
from rdb.recording.log.turns import Places

_NAMESPACE_SHIFT = 16  # of the library in the number of a call through the gate
_NR_WORD = 10  # of log_entry.nr in 32-bit units
_AT_NS_WORD = 2  # of log_entry.at_ns in 64-bit units
_THREAD_WORD = 13  # of log_entry.thread in 32-bit units
# Kinds with many records in a log.  The places of records of other kinds are kept in a list.
_MANY = frozenset((int(Kind.SYSCALL), int(Kind.HYPERCALL), int(Kind.TSC), TURNS))
_RARE = re.compile(b"[^%s]" % b"".join(b"\\x%02x" % (kind & 0xFF) for kind in sorted(_MANY)))
"""A lower byte of another kind."""


class LogIndex(LogEntries):
    """Every record of one rank's log at the time of opening; the bytes stay in the mapped files.

    A record is named by its place, an index from 0.  A cycle is a sequence of records that repeats;
    each turn (one record of one repetition) has a place, but all turns are one entry of librdblog.

    With `tail` the index holds only the first record and those of the last segments.  `more` adds
    the records that were written since; earlier places stay valid.

    Raises VersionMismatch for a log of another format, RdbError for one that cannot be read.  A
    damaged log is indexed up to the damage; see `check`.
    """

    def __init__(self, directory: Path, tail: bool = False) -> None:
        super().__init__(directory, tail)
        self._few: dict[int, list[int]] = {}
        self._threads_seen, self._threads_until = 0, 0  # the highest number so far, of how many
        self._sorted = 0  # number of entries that are in `_few`
        # (kind, number of the call) -> its entries, in order
        self._called: dict[tuple[int, int], array[int]] = defaultdict(lambda: array("Q"))
        self._called_until = 0  # number of entries that are in `_called`

    def of_kind(self, *kinds: Kind) -> Sequence[int]:
        """Places of all records of these kinds, in order."""
        wanted = {int(kind) for kind in kinds}
        if wanted & _MANY:
            return self._those(
                [number for number, kind in enumerate(self._kinds()) if kind in wanted]
            )
        self._sort()
        found = [place for kind in wanted for place in self._few.get(kind, ())]
        return sorted(found) if len(wanted) > 1 else found

    def highest_thread(self) -> int:
        """The highest thread number of all records."""
        part = self._view[self._threads_until * ENTRY.size :]
        threads = part.cast("I")[_THREAD_WORD::ENTRY_NUMBERS] if part else ()
        self._threads_seen = max(self._threads_seen, max(threads, default=0))
        self._threads_until = self._entries
        return self._threads_seen

    def _sort(self) -> None:
        """Brings `_few` up to date."""
        if self._sorted == self._entries:
            return
        part = bytes(self._view[self._sorted * ENTRY.size + 2 * KIND_HALF :: ENTRY.size])
        for found in _RARE.finditer(part):
            number = self._sorted + found.start()
            self._few.setdefault(part[found.start()], []).append(self._places[number])
        self._sorted = self._entries

    def of_calls(self, *numbers: int) -> Sequence[int]:
        """Places of all system calls with these numbers, in order."""
        return self.of_each((Kind.SYSCALL, number) for number in numbers)

    def of_hypercalls(self, numbers: frozenset[int]) -> Sequence[int]:
        """Places of all calls through the gate with these numbers, in order."""
        return self.of_each((Kind.HYPERCALL, number) for number in numbers)

    def libraries(self, event: int) -> set[int]:
        """The libraries below the gate that were called up to EVENT, as numbers (RDB_NS_ in
        interposer/interface/gate.h)."""
        self._sort_calls()
        return {
            nr >> _NAMESPACE_SHIFT
            for (kind, nr), entries in self._called.items()
            if kind == Kind.HYPERCALL and self._events[entries[0]] <= event
        }

    def of_each(self, calls: Iterable[tuple[Kind, int]]) -> Sequence[int]:
        """Places of all calls of these kinds and numbers, in order."""
        self._sort_calls()
        found = (self._called[call] for call in calls if call in self._called)
        return self._those(sorted(chain.from_iterable(found)))

    def _sort_calls(self) -> None:
        """Brings `_called` up to date."""
        if self._called_until == self._entries:
            return
        part = self._view[self._called_until * ENTRY.size :]
        kinds = part.cast("H")[KIND_HALF::ENTRY_HALVES].tolist()
        calls = zip(kinds, part.cast("I")[_NR_WORD::ENTRY_NUMBERS].tolist(), strict=True)
        for number, call in enumerate(calls, self._called_until):
            self._called[call].append(number)
        self._called_until = self._entries

    def _kinds(self) -> list[int]:
        """The kind of each entry."""
        return self._view.cast("H")[KIND_HALF::ENTRY_HALVES].tolist() if self.count else []

    def _those(self, entries: list[int]) -> Sequence[int]:
        """Places of these entries, and of the turns that repeat them."""
        if self._plain:
            return entries
        found, those = Places(), set(entries)
        turns = {number for number, kind in enumerate(self._kinds()) if kind == TURNS}
        for number in sorted(those | turns):
            if number in turns:
                entry = self._entry(number)
                period = entry[NARGS]
                which = tuple(at for at in range(period) if number - period + at in those)
                found.add(entry[PLACE], entry[REPEAT] + 1, period, which)
            else:
                found.add(self._places[number], 1, 1, (0,))
        return found

    def switches(self) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
        """For each record of an event: its first event, how many events it is, and a list of (kind,
        thread, number of the call).

        The list has one element.  All turns of a cycle are one item, with an element for each
        record of a period.
        """
        for number, entry in enumerate(ENTRY.iter_unpack(self._view)):
            period = entry[NARGS] if entry[KIND] == TURNS else 0
            if period or Kind(entry[KIND]).is_event:
                models = [self._entry(number - period + at) for at in range(period or 1)]
                said = [(one[KIND], one[THREAD], one[NR]) for one in models]
                yield entry[0], entry[REPEAT] + 1, said

    def event_times(self) -> Iterator[tuple[int, int, int]]:
        """For each record of an event: its first event, the time of the answer in ns, the number of
        further events.  All turns of a cycle are one item."""
        for entry in ENTRY.iter_unpack(self._view):
            if entry[KIND] == TURNS or Kind(entry[KIND]).is_event:
                yield entry[0], entry[2], entry[REPEAT]

    def first_at(self, event: int) -> int:
        """Place of the first record of an event after `event - 1`."""
        number = bisect.bisect_left(self._events, event)
        if self._plain or not number:
            return number
        entry = self._entry(number - 1)
        stop = entry[PLACE] + (entry[REPEAT] if entry[KIND] == TURNS else 0) + 1
        return int(min(entry[PLACE] + event - entry[0], stop)) if entry[KIND] == TURNS else stop

    def event_place(self, event: int) -> int | None:
        """Place of the record that holds this event (its first or a repetition)."""
        number = bisect.bisect_right(self._events, event)
        while number > 0:
            number -= 1
            entry = self._entry(number)
            turns = entry[KIND] == TURNS
            if turns or Kind(entry[KIND]).is_event:
                if event > entry[0] + entry[REPEAT]:
                    return None
                return int(entry[PLACE] + (event - entry[0] if turns else 0))
        return None

    def span_ns(self) -> tuple[int, int]:
        """The first and the newest time of all records but META; 0, 0: there is none."""
        times = self._view.cast("Q")[_AT_NS_WORD::ENTRY_WORDS] if self._entries else ()
        meta = self.of_kind(Kind.META)
        first = next((at for place, at in enumerate(times) if at and place not in meta), 0)
        return (first, max(times)) if first else (0, 0)

    def numbers_between(self, first: int, last: int) -> range:
        """Numbers of the entries that may hold one of these events."""
        low = bisect.bisect_left(self._events, first)
        return range(max(low - 1, 0), bisect.bisect_right(self._events, last))

    def events_among(
        self, numbers: range, calls: Iterable[tuple[Kind, int]] | None
    ) -> Iterator[tuple[tuple[Kind, int], array[int]]]:
        """Numbers of the events among NUMBERS, by call; CALLS: only these."""
        self._sort_calls()
        for kind, nr in list(self._called) if calls is None else calls:
            if kind == TURNS or not Kind(kind).is_event:
                continue
            those = self._called_among((kind, nr), numbers)
            if those:
                yield (Kind(kind), nr), those

    def cycles_among(self, numbers: range) -> array[int]:
        """Numbers of the entries that are turns of a cycle."""
        self._sort_calls()
        return self._called_among((TURNS, 0), numbers)

    def _called_among(self, call: tuple[int, int], numbers: range) -> array[int]:
        known = self._called.get(call, array("Q"))
        low = bisect.bisect_left(known, numbers.start)
        return known[low : bisect.bisect_left(known, numbers.stop, low)]
