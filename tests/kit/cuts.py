"""Events at which a job can go on, chosen as a user might."""

from __future__ import annotations

import random
from collections.abc import Iterator

from events import finalized, written

from rdb.errors import RdbError
from rdb.live.cut.consistent import Cut, Traffic
from rdb.recording import Job


def cuts(job: Job, traffic: Traffic, ranks: int, seed: int) -> Iterator[tuple[int, int, Cut]]:
    """Rank, event, and the cut, before MPI_Finalize."""
    chosen = random.Random(seed)
    while True:
        rank = chosen.randrange(ranks)
        event = chosen.randrange(job.rank(rank).last_event)
        try:
            cut = traffic.cut(rank, event)
        except RdbError as error:  # inside a callback or a collective: where to go is said
            assert error.hint is not None and error.hint.startswith("try --at")
            continue
        if not any(finalized(job, one, at) for one, at in cut.events.items()):
            yield rank, event, cut


def silent_event(
    job: Job, rank: int, chosen: random.Random, first: int = 1, until: int | None = None
) -> int:
    """One at which the job can go on, before anything is printed and before MPI_Finalize."""
    traffic = Traffic(job)
    events = range(first, until or job.rank(rank).last_event)
    for event in chosen.sample(events, len(events)):
        try:
            cut = traffic.cut(rank, event)
        except RdbError:
            continue
        if not written(job, cut.events) and not any(
            finalized(job, *one) for one in cut.events.items()
        ):
            return event
    raise AssertionError("there is no such event")
