"""Several threads of a rank call MPI: no deadlock, the same answers, each rank replays alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Build, Rdb
from mpijob import Job, lines, mpirun, record

from rdb.paths import mpi_dir, rdb_exec_path
from rdb.recording import Kind

THREADS = ("-O1", "-pthread", "-fopenmp")
HASH_EVERY = {2: 1, 4: 10}  # by the number of ranks


def native(program: Path, ranks: int, *arguments: str) -> list[str]:
    result = mpirun(ranks, program, *arguments)
    assert result.returncode == 0, result.stderr
    return lines(result)


def expect_recorded(job: Job, output: list[str]) -> None:
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == output
    job.expect_equal()


def threads_with(job: Job, rank: int, kind: Kind) -> set[int]:
    return {record.thread for record in job.rank(rank).records() if record.kind is kind}


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_way_to_wait(ranks: int, build: Build, tmp_path: Path) -> None:
    """Eight threads play with eight of the next rank; each would block the others for ever if it
    kept the right to run while it waits."""
    program = build("mpi/threads_pingpong.c", *THREADS, compiler="mpicc")
    job = record(tmp_path, ranks, program, hash_every=HASH_EVERY[ranks])
    expect_recorded(job, native(program, ranks))
    assert len(threads_with(job, 0, Kind.HYPERCALL)) == 8


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_collectives_beside_messages(ranks: int, build: Build, tmp_path: Path) -> None:
    """Operations of the program run in a thread that is in a collective while others compute, and
    write to the gaps of what is being received."""
    program = build("mpi/threads_collectives.c", *THREADS, compiler="mpicc")
    job = record(tmp_path, ranks, program, hash_every=10)
    output = lines(job.result)
    assert all(line.endswith("wrong 0") for line in output)
    expect_recorded(job, native(program, ranks))
    assert len(threads_with(job, 0, Kind.UPCALL)) == 1
    assert threads_with(job, 0, Kind.PREEMPT), "the computation was interrupted"


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_levels(level: int, build: Build, tmp_path: Path) -> None:
    """The MPI says the level; with the highest, two threads make communicators at once."""
    program = build("mpi/threads_levels.c", *THREADS, compiler="mpicc")
    job = record(tmp_path, 2, program, str(level))
    expect_recorded(job, native(program, 2, str(level)))
    assert f"rank 0 level {level} {level} main 1" in lines(job.result)


@pytest.mark.parametrize("ranks", [2, 4])
def test_stencil_with_openmp(ranks: int, build: Build, tmp_path: Path) -> None:
    program = build("mpi/threads_stencil.c", *THREADS, compiler="mpicc")
    job = record(tmp_path, ranks, program, hash_every=HASH_EVERY[ranks])
    expect_recorded(job, native(program, ranks))


@pytest.mark.parametrize("program_name", ["pingpong", "levels"])
def test_without_a_recording(program_name: str, build: Build, tmp_path: Path) -> None:
    """Then threads run in parallel, and only the boundary's own tables keep them apart."""
    program = build(f"mpi/threads_{program_name}.c", *THREADS, compiler="mpicc")
    result = mpirun(
        2, rdb_exec_path(), "--record=off", "--dir", tmp_path, "--files", tmp_path,
        "--mpi-lower", mpi_dir() / "lower.so",
        "--mpi-stub", mpi_dir() / "libmpi.so.40", "--", program,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert lines(result) == native(program, 2)


def test_replay_by_the_command(build: Build, rdb: Rdb) -> None:
    program = build("mpi/threads_stencil.c", *THREADS, compiler="mpicc")
    run = rdb("run", "-n", "2", "--", program)
    assert run.returncode == 0, run.stderr
    done = rdb("replay", "threads_stencil-1", "--verify", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [process["ok"] for process in json.loads(done.stdout)] == [True, True]
