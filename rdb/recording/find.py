"""Events that a query is true of, from the log alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rdb.recording.fields import Paths
from rdb.recording.query import Query
from rdb.recording.rank import RankRecording
from rdb.recording.record import Record

_LOOK_EVERY = 4096
Look = Callable[[float], None]


def span(record: Record, first: int, last: int) -> range:
    """The events within `first` .. `last` that a record stands for."""
    return range(max(record.event, first), min(record.event + record.repeat, last) + 1)


def find_events(
    recording: RankRecording,
    query: Query,
    first: int = 0,
    last: int | None = None,
    backwards: bool = False,
    look: Look | None = None,
    paths: Paths | None = None,
) -> Iterator[Record]:
    """Records of events in `first` .. `last`, in the order in which they are met.

    `look` is called now and then with the part that is done; what it raises ends the search.
    """
    index = recording.index
    start = index.event_place(first) if first > 0 else 0
    start = index.first_at(first) if start is None else start
    stop = index.count if last is None else index.first_at(last + 1)
    count = max(stop - start, 0)
    start_ns = next(index.records(0, 1)).at_ns if index.count else 0
    for number in range(count):
        if look is not None and number % _LOOK_EVERY == 0:
            look(number / count)
        record = index.record(stop - 1 - number if backwards else start + number)
        if record.kind.is_event and query.matches(record, recording.rank, start_ns, paths):
            yield record
