"""Jobs whose ranks have started others (MPI_Comm_spawn), a MPI_COMM_WORLD of their own.

A restart has all processes that are there at the cut started by one launcher, each as the rank of
the job that it is, and makes the worlds of them (interposer/mpi/lower/worlds.h).  Those that are
started after the cut are left out, and started anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from rdb.errors import RdbError
from rdb.recording import Job
from rdb.recording.mpi.communication import RankCommunication

_STARTS = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_get_parent")
_JOINS = (*_STARTS, "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join")
_MEETINGS = (*_JOINS, "MPI_Intercomm_create", "MPI_Intercomm_merge", "MPI_Comm_create_group")


class _Part(Job):
    """The job without some of its ranks."""

    def __init__(self, job: Job, ranks: list[int]) -> None:
        super().__init__(job.path)
        self._part = ranks

    @cached_property
    def ranks(self) -> list[int]:
        return self._part


def worlds(job: Job) -> dict[int, list[int]]:
    """By the job's number of the rank that is 0 there."""
    found: dict[int, list[int]] = defaultdict(list)
    for rank in job.ranks:
        found[int(job.rank(rank).meta.get("world_first", 0))].append(rank)
    return found


def meetings(known: Mapping[int, RankCommunication], never: int) -> Iterator[dict[int, int]]:
    """Rank -> event of what makes a communicator in all its ranks or in none, and is no collective
    of another one; NEVER: it did not come to that."""
    names: dict[str, dict[int, int]] = defaultdict(dict)
    for rank, one in known.items():
        for name, (event, by) in one.born.items():
            if by in _MEETINGS and event and -1 not in (one.communicators[name].members or ()):
                names[name][rank] = event
                for other in one.communicators[name].members or ():
                    if other in known:
                        names[name].setdefault(other, never)
    yield from names.values()


def known_worlds(job: Job) -> Job:
    """The job; without what was started where the log does not say by whom: an older rdb's."""
    all_worlds = worlds(job)
    first = all_worlds[0]
    if len(first) == len(job.ranks) or not first:
        return job
    for numbers in all_worlds.values():
        if numbers is not first and not _says_its_parents(job, numbers[0]):
            return _Part(job, first)
    return job


def _says_its_parents(job: Job, rank: int) -> bool:
    recording = job.rank(rank)
    if (recording.path / "mpi-objects").exists():  # a branch
        return True
    communication = RankCommunication(recording.path, rank, rank)
    if not communication.born:
        return True  # it had not come to MPI_Init
    return any(
        by in _STARTS and -1 not in (communication.communicators[name].members or (-1,))
        for name, (_, by) in communication.born.items()
    )


def there(job: Job, started: Mapping[int, int | None], events: Mapping[int, int]) -> Job:
    """The ranks that are in MPI at the cut EVENTS; STARTED: each one's event of MPI_Init."""
    left_out = [
        rank
        for first, ranks in worlds(job).items()
        for rank in ranks
        if first and events[rank] < _start(job, rank, started[rank])
    ]
    if not left_out:
        return job
    kept = [rank for rank in job.ranks if rank not in left_out]
    if kept != list(range(len(kept))):
        raise RdbError(
            f"rank {left_out[0]} is not in MPI yet at this cut, and rank {kept[-1]} is: a restart "
            "starts none later that has a lower number",
            "choose an event before or after both were started",
        )
    return _Part(job, kept)


def _start(job: Job, rank: int, event: int | None) -> int:
    if event is not None:
        return event
    began_in_mpi = (job.rank(rank).path / "mpi-objects").exists()
    return 0 if began_in_mpi else job.rank(rank).last_event + 1


def unknown(job: Job, rank: int, cut: int) -> list[str]:
    """A line for each communicator at the cut with processes that the log does not name."""
    recording = job.rank(rank)
    first = int(recording.meta.get("world_first", 0))
    known = RankCommunication(recording.path, first, rank)
    return [
        f"rank {rank} cannot be restarted at event {cut}: {by}: processes of another "
        f"MPI_COMM_WORLD cannot be brought back: the log does not say who they are (event {event})"
        for name, (event, by) in known.born.items()
        if by in _JOINS and event <= cut and -1 in (known.communicators[name].members or ())
    ]


def world_options(job: Job, ranks: list[int]) -> dict[int, list[str]]:
    """Of each rank, for rdb-exec: which MPI_COMM_WORLD it is in, where there are several."""
    metas = {rank: job.rank(rank).meta for rank in ranks}
    firsts = {rank: int(meta.get("world_first", 0)) for rank, meta in metas.items()}
    if not any(firsts.values()):
        return {rank: [] for rank in ranks}
    return {
        rank: [
            "--worlds",
            "--world",
            str(firsts[rank]),
            "--appnum",
            str(metas[rank].get("appnum", 0)),
        ]
        for rank in ranks
    }
