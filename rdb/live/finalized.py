"""MPI_Finalize: after it a rank cannot be restarted, since MPI cannot begin again."""

from __future__ import annotations

from rdb.errors import RdbError
from rdb.live.consistent import Cut, Traffic, finalize_event, finalized
from rdb.recording import Job


def check_not_finalized(job: Job, traffic: Traffic, cut: Cut, first: int) -> None:
    """Raises RdbError if a rank of the cut had called it; FIRST: whose event --at is."""
    for rank, event in cut.events.items():
        if not finalized(job, rank, event):
            continue
        newest = _newest_before(job, traffic, first)
        raise RdbError(
            f"rank {rank} has called MPI_Finalize by event {event}: MPI cannot begin again",
            "choose an earlier event"
            if newest is None
            else f"try --at {newest}, the newest event of rank {first} before it",
        )


def _newest_before(job: Job, traffic: Traffic, rank: int) -> int | None:
    """The newest event of RANK that a restart can begin at."""
    called = finalize_event(job, rank)
    if called is None:
        return None
    try:
        event = traffic.settled(rank, called - 1)
        events = traffic.cut(rank, event).events
    except RdbError:  # nowhere: the user chooses
        return None
    return None if any(finalized(job, *one) for one in events.items()) else event
