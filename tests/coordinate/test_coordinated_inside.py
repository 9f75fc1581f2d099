"""Checkpoints without a log while a rank waits in a collective that others have not begun."""

from __future__ import annotations

import re
from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import DEADLINE_S, Running, sums

RANKS = 3


def _inside(tmp_path: Path, build: Build, mpi: str, *threads: str) -> Running:
    program = str(build("mpi/coordinated_inside.c", "-pthread"))
    line = ("--mpi", mpi, "-n", str(RANKS), "--", program, "gate", *threads)
    return Running(tmp_path / "home", tmp_path, "inside", *line)


@pytest.mark.parametrize(
    "mpi, other, threads",
    [("openmpi", "mpich", ()), ("openmpi", "mpich", ("one",)), ("mpich", "openmpi", ())],
)
def test_who_waits_in_a_collective_is_held_there(
    mpi: str, other: str, threads: tuple[str, ...], tmp_path: Path, build: Build
) -> None:
    """The others begin it only when both checkpoints are taken; a restart makes the call again."""
    one = _inside(tmp_path, build, mpi, *threads)
    for phase in range(2):
        one.until(f"phase {phase}")
        taken = one.rdb("checkpoint", "inside", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
        (tmp_path / f"gate-{phase}").touch()
    said, complaints = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, complaints
    told = 1000 + 6 * 3
    whole = [f"rank {rank} sum {6 + 30 * 7 + told * (1 if rank else 3)}" for rank in range(RANKS)]
    assert sums(said) == whole
    for number, at in ((1, mpi), (2, other)):
        done = one.rdb("restart", "inside", "--at", f"ckpt:{number}", "--mpi", at)
        assert done.returncode == 0, done.stderr
        assert sums(done.stdout) == whole


@pytest.mark.parametrize("mpi, threads", [("openmpi", "several"), ("mpich", "one")])
def test_who_cannot_be_held_there_is_named(
    mpi: str, threads: str, tmp_path: Path, build: Build
) -> None:
    """Another thread may be in the MPI as well, or the MPI holds a lock while it waits."""
    one = _inside(tmp_path, build, mpi, threads)
    one.until("phase 0")
    late = one.rdb("checkpoint", "inside", "--timeout", "3")
    assert late.returncode == 1, late.stdout
    assert re.search(r"rank [01] had not begun a collective in which rank 2 was", late.stderr)
    for phase in range(2):
        (tmp_path / f"gate-{phase}").touch()
    said, complaints = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0 and len(sums(said)) == RANKS, complaints
    assert "not all ranks could be stopped in time" in complaints


@pytest.mark.parametrize("mpi, other", [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_a_communicator_that_others_have_freed(
    mpi: str, other: str, tmp_path: Path, build: Build
) -> None:
    """MPI_Comm_free waits for nobody; there is no checkpoint before all have begun it."""
    program = str(build("mpi/coordinated_freed.c"))
    line = ("--mpi", mpi, "-n", str(RANKS), "--", program, "first", "second")
    one = Running(tmp_path / "home", tmp_path, "freed", *line)
    one.until("before")
    early = one.rdb("checkpoint", "freed", "--timeout", "2")
    assert early.returncode != 0, early.stdout
    (tmp_path / "first").touch()
    one.until("after")
    taken = one.rdb("checkpoint", "freed", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (tmp_path / "second").touch()
    said, complaints = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, complaints
    whole = [f"rank {rank} sum {42 + 7 * (rank == 0)}" for rank in range(RANKS)]
    assert sums(said) == whole
    done = one.rdb("restart", "freed", "--mpi", other)
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole
