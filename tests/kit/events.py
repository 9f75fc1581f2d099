"""Events of a recording, by what was called."""

from __future__ import annotations

from collections.abc import Mapping

from rdb.recording import Job, RankRecording
from rdb.recording.log.describe import mpi_functions


def events_called(recording: RankRecording, *calls: str) -> list[int]:
    """Those whose description begins so, such as `getppid` or `MPI_Barrier`."""
    every = range(1, recording.last_event + 1)
    return [event for event in every if recording.describe(event).startswith(calls)]


def written(job: Job, events: Mapping[int, int]) -> int:
    """How often the ranks have written to stdout by these events.

    Who polls has 100,000 events in one record: they are not described one by one.
    """
    return sum(
        min(until, record.event + record.repeat) - record.event + 1
        for recording, until in ((job.rank(rank), until) for rank, until in events.items())
        for record in recording.records(0, until)
        if record.kind.is_event
        and 0 < record.event <= until
        and recording.describe(record.event).startswith("write(1,")
    )


def finalized(job: Job, rank: int, event: int) -> bool:
    """Has the rank called MPI_Finalize by then?"""
    numbers = frozenset(int(one["nr"]) for one in mpi_functions() if one["name"] == "MPI_Finalize")
    index = job.rank(rank).index
    return any(index.brief(place)[1] <= event for place in index.of_hypercalls(numbers))
