"""Jobs whose ranks have started others (MPI_Comm_spawn), with an MPI_COMM_WORLD of their own.

At a restart one launcher starts all processes that exist at the cut, each as the rank of the job
that it was, and rdb makes their worlds again (mpi/lower/objects/worlds.h). Processes that were
started after the cut are left out; the program starts them again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from rdb.errors import RdbError
from rdb.recording import Job
from rdb.recording.mpi.communication import RankCommunication

_STARTS = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_get_parent")
_JOINS = (*_STARTS, "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join")
_MEETINGS = (*_JOINS, "MPI_Intercomm_create", "MPI_Intercomm_merge", "MPI_Comm_create_group")


def worlds(job: Job) -> dict[int, list[int]]:
    """The ranks of each world, by the job's number of the world's rank 0."""
    found: dict[int, list[int]] = defaultdict(list)
    for rank in job.ranks:
        found[job.rank(rank).world_first].append(rank)
    return found


def meetings(known: Mapping[int, RankCommunication], never: int) -> Iterator[dict[int, int]]:
    """Rank -> event of calls that make a communicator in all its ranks or in none.

    Collectives of another communicator are not among them. NEVER: the rank has not called it.
    """
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
    """The job, without worlds of unknown origin, which an older rdb recorded."""
    all_worlds = worlds(job)
    first = all_worlds[0]
    if len(first) == len(job.ranks) or not first:
        return job
    for numbers in all_worlds.values():
        if numbers is not first and not _says_its_parents(job, numbers[0]):
            return job.without([rank for rank in job.ranks if rank not in first])
    return job


def _says_its_parents(job: Job, rank: int) -> bool:
    recording = job.rank(rank)
    if (recording.path / "mpi-objects").exists():  # a branch
        return True
    communication = RankCommunication(recording.path, rank, rank)
    if not communication.born:
        return True  # it had not reached MPI_Init
    return any(
        by in _STARTS and -1 not in (communication.communicators[name].members or (-1,))
        for name, (_, by) in communication.born.items()
    )


def there(job: Job, started: Mapping[int, int | None], events: Mapping[int, int]) -> Job:
    """The job with the ranks that are in MPI at the cut EVENTS; STARTED: event of each MPI_Init.

    RdbError: the ranks left out are not the highest ones.
    """
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
            f"rank {left_out[0]} has not called MPI_Init yet at this cut, but rank {kept[-1]} has: "
            "a restart can leave out only the ranks with the highest numbers",
            "choose an event before or after both were started",
        )
    return job.without(left_out)


def _start(job: Job, rank: int, event: int | None) -> int:
    if event is not None:
        return event
    began_in_mpi = (job.rank(rank).path / "mpi-objects").exists()
    return 0 if began_in_mpi else job.rank(rank).last_event + 1


def unknown(known: RankCommunication, rank: int, cut: int) -> list[str]:
    """A line for each communicator at the cut with processes that the log does not name."""
    return [
        f"rank {rank} cannot be restarted at event {cut}: {by}: processes of another "
        f"MPI_COMM_WORLD cannot be brought back: the log does not name them (event {event})"
        for name, (event, by) in known.born.items()
        if by in _JOINS and event <= cut and -1 in (known.communicators[name].members or ())
    ]


def world_options(job: Job, ranks: list[int]) -> dict[int, list[str]]:
    """Options of rdb-exec for each rank that name its MPI_COMM_WORLD, if there are several."""
    firsts = {rank: job.rank(rank).world_first for rank in ranks}
    if not any(firsts.values()):
        return {rank: [] for rank in ranks}
    return {
        rank: [
            "--worlds",
            "--world",
            str(firsts[rank]),
            "--appnum",
            str(job.rank(rank).meta.get("appnum", 0)),
        ]
        for rank in ranks
    }
