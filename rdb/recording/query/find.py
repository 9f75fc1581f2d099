"""The events of which a query is true, from the log alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
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
    stop = index.first_at(last + 1)
    count = max(stop - start, 0)
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
        place = stop - 1 - number if backwards else start + number
        where = index.where(place) if query.of_the_call else None
        if where in false:
            turns = index.turns_at(place)
            if turns is not None and false.issuperset(map(index.where, turns[0][: turns[1]])):
                number += place - turns[0][0] if backwards else turns[0][-1] - place
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
