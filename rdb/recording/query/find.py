"""The events of which a query is true, from the log alone."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rdb.recording.log.record import Record
from rdb.recording.query.columns import Call, Compiled, compiled
from rdb.recording.query.fields import Paths
from rdb.recording.query.query import Query
from rdb.recording.rank import RankRecording

_LOOK_EVERY = 4096
_CHUNK = 1 << 16  # entries of the index
Look = Callable[[float], None]
Part = tuple[int, range]
"""The place of a record, and consecutive events of it."""


class FoundEvents(NamedTuple):
    """Consecutive events of one record."""

    record: Record
    events: range


def find_events(
    recording: RankRecording,
    query: Query,
    first: int = 0,
    last: int | None = None,
    backwards: bool = False,
    look: Look | None = None,
    paths: Paths | None = None,
) -> Iterator[FoundEvents]:
    """Matching events in `first` .. `last` (inclusive), in the order of the search.

    `look` is called now and then with the finished part, 0 to 1; an exception of it ends the
    search. `paths` reads the path argument of a call; without it the field `path` has no value.
    """
    search = _Search(recording, query, first, last, backwards, look, paths)
    for place, events in search.parts():
        yield FoundEvents(recording.index.record(place), events)


def count_events(recording: RankRecording, query: Query) -> int:
    """The number of matching events."""
    return _Search(recording, query).count()


class _Search:
    def __init__(
        self,
        recording: RankRecording,
        query: Query,
        first: int = 0,
        last: int | None = None,
        backwards: bool = False,
        look: Look | None = None,
        paths: Paths | None = None,
    ) -> None:
        self._index, self._query, self._rank = recording.index, query, recording.rank
        self._first = max(first, query.first)
        self._last = min(query.last, recording.last_event if last is None else last)
        self._backwards, self._look, self._paths = backwards, look, paths
        index = self._index
        self._start_ns = next(index.records(0, 1)).at_ns if index.count else 0
        self._compiled: dict[Call, Compiled | None] = {}
        self._asked, self._done = 0, 0.0
        self._true: dict[int, bool] = {}  # entry of a cycle -> its answer

    def parts(self) -> Iterator[Part]:
        for true, unknown in self._chunks():
            asked = set(unknown)
            for number in sorted((*true, *unknown), reverse=self._backwards):
                if number in asked:
                    yield from self._one_by_one(number)
                elif events := self._within(*self._index.events_of(number)):
                    yield self._index.place_of(number), events

    def count(self) -> int:
        found = 0
        for true, unknown in self._chunks():
            found += self._index.events_in(true)
            found += sum(len(part) for number in unknown for _, part in self._one_by_one(number))
        return found

    def _chunks(self) -> Iterator[tuple[list[int], list[int]]]:
        """Entries of which the query is true, and others that are to be asked one by one."""
        if self._first > self._last:
            return
        index = self._index
        numbers = index.numbers_between(self._first, self._last)
        starts = range(numbers.start, numbers.stop, _CHUNK)
        for done, start in enumerate(reversed(starts) if self._backwards else starts):
            self._done = done / len(starts)
            if self._look is not None:
                self._look(self._done)
            chunk = range(start, min(start + _CHUNK, numbers.stop))
            true: list[int] = []
            unknown: list[int] = list(index.cycles_among(chunk))
            for call, those in index.events_among(chunk, self._query.calls):
                answers = None if self._paths is not None else self._ask(call, those)
                if answers is None:
                    unknown += those
                elif self._query.of_the_event:  # of repetitions the first was asked alone
                    repeated = {number for number in those if len(index.events_of(number)) > 1}
                    true += (number for number in answers if number not in repeated)
                    unknown += repeated
                else:
                    true += answers
            yield true, unknown

    def _ask(self, call: Call, numbers: array[int]) -> list[int] | None:
        if call not in self._compiled:
            self._compiled[call] = compiled(
                self._query.tree,
                call,
                self._index.arguments_of(numbers[0]),
                self._rank,
                self._start_ns,
                self._query.of_messages,
            )
        loop = self._compiled[call]
        return None if loop is None else loop.of(self._index, numbers)

    def _within(self, first: int, count: int = 1) -> range:
        return range(max(first, self._first), min(first + count - 1, self._last) + 1)

    def _one_by_one(self, number: int) -> Iterator[Part]:
        """The matching parts of an entry's events."""
        place, period = self._index.place_of(number), self._index.period_of(number)
        events = self._within(*self._index.events_of(number))
        if not events:
            return
        if not period:
            record = self._index.record(place)
            for part in self._true_parts(record, events):
                yield place, part
            return
        start = self._index.events_of(number)[0]
        turns = events[::-1] if self._backwards else events
        if self._query.of_the_call:
            models = [self._is_model(number - period + at) for at in range(period)]
            if any(models):
                for event in turns:
                    if models[(event - start) % period]:
                        yield place + event - start, range(event, event + 1)
            return
        for event in turns:
            if self._is_true(self._index.record(place + event - start), event):
                yield place + event - start, range(event, event + 1)

    def _is_model(self, number: int) -> bool:
        if number not in self._true:
            record = self._index.record(self._index.place_of(number))
            self._true[number] = self._is_true(record, record.event)
        return self._true[number]

    def _is_true(self, record: Record, event: int) -> bool:
        self._asked += 1
        if self._look is not None and self._asked % _LOOK_EVERY == 0:
            self._look(self._done)
        return self._query.matches(record, self._rank, self._start_ns, self._paths, event)

    def _true_parts(self, record: Record, events: range) -> Iterator[range]:
        """The matching ranges of a record's events; adjacent ranges are joined."""
        if len(events) == 1:
            yield from (events for one in events if self._is_true(record, one))
            return
        pieces = self._query.pieces(events, self._backwards)
        for true, group in itertools.groupby(
            pieces, lambda piece: self._is_true(record, piece.start)
        ):
            if true:
                parts: Sequence[range] = list(group)
                ends = parts[0], parts[-1]
                yield range(min(one.start for one in ends), max(one.stop for one in ends))
