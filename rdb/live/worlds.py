"""Jobs whose ranks have started others (MPI_Comm_spawn), a MPI_COMM_WORLD of their own."""

from __future__ import annotations

from functools import cached_property

from rdb.errors import RdbError
from rdb.recording import Job


class _FirstWorld(Job):
    """The job without what it has started: a restart from before that starts them anew."""

    @cached_property
    def _own(self) -> list[int]:
        return [rank for rank in super().ranks if not _spawned(self, rank)]

    @property
    def ranks(self) -> list[int]:
        return self._own


def _spawned(job: Job, rank: int) -> bool:
    return int(job.rank(rank).meta.get("world_first", 0)) > 0


def first_world(job: Job, rank: int | None) -> Job:
    """The ranks that the launcher has started; RANK, which the cut is to be of, has to be one."""
    if rank is not None and rank in job.ranks and _spawned(job, rank):
        raise RdbError(
            f"rank {rank} was started by MPI_Comm_spawn: such processes cannot be brought back",
            "--rank 0, at an event before they were started",
        )
    if len(job.ranks) < 2 or not any(_spawned(job, one) for one in job.ranks):
        return job
    return _FirstWorld(job.path)
