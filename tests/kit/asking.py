"""Programs that ask in vain, over and over."""

from __future__ import annotations

import mpis
from conftest import Build
from faults import Rank

from rdb.paths import mpi_dir

OF_MPI_4 = ("get_status_any", "get_status_some", "get_status_all", "parrived")


Line = list[str]


def alone(rank: Rank, build: Build, call: str, *turns: str) -> Line:
    return rank.line(build("asking.c", "-O1"), call, *turns)


def under_mpi(rank: Rank, build: Build, call: str, requests: int, *turns: str) -> Line:
    """Over Open MPI, which has not all of MPI-4, or over MPICH."""
    mpi = "mpich" if call in OF_MPI_4 else "openmpi"
    mpis.needs(mpi)
    program = build("mpi/asking.c", "-O1", compiler=f"mpicc.{mpi}")
    lower = str(mpi_dir(mpi) / "lower.so")
    options = ("--mpi-lower", lower, *(str(word) for word in mpis.stubs()))
    return rank.line(program, call, str(requests), *turns, options=options)
