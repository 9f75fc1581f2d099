"""Recordings that began in the middle of MPI: their logs lack the objects made before."""

from __future__ import annotations

from rdb.errors import RdbError
from rdb.recording import Job, RankRecording
from rdb.recording.log.describe import mpi_functions

_INIT = ("MPI_Init", "MPI_Init_thread")


def check_begun(job: Job) -> None:
    """RdbError: the job went on from a checkpoint without a log, when its ranks were in MPI."""
    parent = job.meta.get("parent")
    if parent and any(_began_in_mpi(job.rank(rank)) for rank in job.ranks):
        raise RdbError(
            f"{job.name} was recorded from a checkpoint of {parent['job']} on, after MPI_Init: its "
            "log does not hold the MPI objects that existed before",
            f"restart {parent['job']}, from one of its checkpoints",
        )


def _began_in_mpi(recording: RankRecording) -> bool:
    """Whether it used communicators without MPI_Init and without a branch's list of objects."""
    if (recording.path / "mpi-objects").exists():
        return False
    functions = mpi_functions()
    on_ranks = frozenset(int(one["nr"]) for one in functions if "comm" in one["params"])
    inits = frozenset(int(one["nr"]) for one in functions if one["name"] in _INIT)
    index = recording.index
    return bool(index.of_hypercalls(on_ranks)) and not index.of_hypercalls(inits)
