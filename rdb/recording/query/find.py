"""The events of which a query is true, from the log alone."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rdb.recording.log.record import Record
from rdb.recording.query.fields import Paths
from rdb.recording.query.query import Query
from rdb.recording.rank import RankRecording

_LOOK_EVERY = 4096
_REMEMBERED = 64  # more than the longest cycle (LOG_PERIOD_MAX)
Look = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class FoundEvents:
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
    index = recording.index
    first = max(first, query.first)
    last = min(query.last, recording.last_event if last is None else last)
    if first > last:
        return
    start = index.event_place(first) if first > 0 else 0
    start = index.first_at(first) if start is None else start
    places = range(index.count) if query.calls is None else index.of_each(query.calls)
    low, high = bisect_left(places, start), bisect_left(places, index.first_at(last + 1))
    count = max(high - low, 0)
    start_ns = next(index.records(0, 1)).at_ns if index.count else 0
    asked = 0
    false: set[tuple[int, int]] = set()  # positions of records of which the query is not true

    def is_true(record: Record, event: int) -> bool:
        nonlocal asked
        asked += 1
        if look is not None and asked % _LOOK_EVERY == 0:
            look(number / count)
        return query.matches(record, recording.rank, start_ns, paths, event)

    number = -1
    while (number := number + 1) < count:
        if look is not None and number % _LOOK_EVERY == 0:
            look(number / count)
        at = high - 1 - number if backwards else low + number
        place = places[at]
        where = index.where(place) if query.of_the_call else None
        if where in false:
            cycle = index.turns_at(place)
            if cycle is not None:
                turns, period = cycle
                begin, end = _within(places, turns)
                one_turn = _within(places, turns[:period])
                if false.issuperset(index.where(places[one]) for one in range(*one_turn)):
                    number += at - begin if backwards else end - 1 - at
            continue
        record = index.record(place)
        if not record.kind.is_event:
            continue
        events = range(max(record.event, first), min(record.event + record.repeat, last) + 1)
        some = False
        for part in _true_parts(record, query, events, backwards, is_true):
            some = True
            yield FoundEvents(record, part)
        if where is not None and not some:
            if len(false) >= _REMEMBERED:
                false.clear()
            false.add(where)


def _within(places: Sequence[int], turns: range) -> tuple[int, int]:
    """Indices of the first place that is one of these turns, and of the first one behind them."""
    return bisect_left(places, turns.start), bisect_left(places, turns.stop)


def _true_parts(
    record: Record,
    query: Query,
    events: range,
    backwards: bool,
    is_true: Callable[[Record, int], bool],
) -> Iterator[range]:
    """The matching ranges of a record's events; adjacent ranges are joined."""
    if len(events) <= 1:
        yield from (events for one in events if is_true(record, one))
        return
    pieces = query.pieces(events, backwards)
    for true, group in itertools.groupby(pieces, lambda piece: is_true(record, piece.start)):
        if true:
            parts = list(group)
            ends = parts[0], parts[-1]
            yield range(min(one.start for one in ends), max(one.stop for one in ends))
