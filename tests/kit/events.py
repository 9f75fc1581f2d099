"""Events of a recording, by what was called."""

from __future__ import annotations

from rdb.recording import Job, RankRecording
from rdb.recording.log.describe import mpi_functions


def events_called(recording: RankRecording, *calls: str) -> list[int]:
    """Those whose description begins so, such as `getppid` or `MPI_Barrier`."""
    every = range(1, recording.last_event + 1)
    return [event for event in every if recording.describe(event).startswith(calls)]


def finalized(job: Job, rank: int, event: int) -> bool:
    """Has the rank called MPI_Finalize by then?"""
    numbers = frozenset(int(one["nr"]) for one in mpi_functions() if one["name"] == "MPI_Finalize")
    index = job.rank(rank).index
    return any(index.brief(place)[1] <= event for place in index.of_hypercalls(numbers))
