"""Files of MPI: no cut is where one is open, since logs do not say who had written what to it.

They are opened and closed by all ranks of a communicator together, so a cut is before all of these
opened it, or after all have closed it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

from rdb.recording import Job
from rdb.recording.describe import mpi_functions

NEVER = 1 << 62
Span = tuple[int, int]


@cache
def _number(name: str) -> int:
    return next((int(one["nr"]) for one in mpi_functions() if one["name"] == name), -1)


def opens(number: int) -> bool:
    """Is it the call that opens one?"""
    return number == _number("MPI_File_open")


def open_spans(job: Job, rank: int) -> list[Span]:
    """First and last events after which the rank has a file of MPI open."""
    index = job.rank(rank).index
    opening, closing = _number("MPI_File_open"), _number("MPI_File_close")
    spans: list[Span] = []
    count, begun = 0, 0
    for place in index.of_hypercalls(frozenset((opening, closing))):
        record = index.record(place)
        if record.result:
            continue
        for event in range(record.event, record.event + record.repeat + 1):
            if record.nr == opening:
                begun = event if not count else begun
                count += 1
            elif count:
                count -= 1
                if not count:
                    spans.append((begun, event - 1))
    if count:
        spans.append((begun, NEVER - 1))
    return spans


def span_at(spans: Sequence[Span], event: int) -> Span | None:
    """The one that the event is in."""
    at = bisect_right(spans, (event, NEVER)) - 1
    return spans[at] if at >= 0 and event <= spans[at][1] else None
