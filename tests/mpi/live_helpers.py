"""MPI ranks with child processes, restarted at random events, each branch again: `make test-live`.

RDB_TEST_LIVE says how many; no part of `make test`.
"""

from __future__ import annotations

import os
import random

from events import finalized
from test_restart_helpers import RANKS, Recorded, helpers

from rdb.errors import RdbError
from rdb.live.cut.consistent import Traffic
from rdb.recording import Job

__all__ = ["helpers"]
MANY = int(os.environ.get("RDB_TEST_LIVE", "10"))


def test_at_random_events(helpers: Recorded) -> None:
    chosen = random.Random(31)
    for turn in range(MANY):
        job, name = helpers.job, f"cut{turn}"
        for mpi in ("mpich", "openmpi"):
            rank, event = somewhere(job, chosen)
            if event < 0:
                break
            job = helpers.restart(job, rank, event, mpi, f"{name}-{mpi}", False)


def somewhere(job: Job, chosen: random.Random) -> tuple[int, int]:
    """Event -1: all has been done."""
    traffic = Traffic(job)
    places = [(rank, event) for rank in range(RANKS) for event in range(job.rank(rank).last_event)]
    chosen.shuffle(places)
    for rank, event in places:
        try:
            cut = traffic.cut(rank, event)
        except RdbError:
            continue
        if not any(finalized(job, *one) for one in cut.events.items()):
            return rank, event
    return 0, -1
