"""A program for each family of MPI functions: right under rdb, and each rank replays alone.

RDB_TEST_MPI=all (`make test-mpi`) runs each with 2, 3 and 4 ranks.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Build
from mpijob import lines, record

FAMILIES = {
    "collectives_nonblocking": 3,
    "communicators": 3,
    "datatypes": 2,
    "neighbors": 3,
    "objects": 2,
    "requests": 2,
    "threads_nonblocking": 2,
    "tools": 2,
}
ALL = os.environ.get("RDB_TEST_MPI") == "all"
CASES = [
    (family, ranks)
    for family, usual in FAMILIES.items()
    for ranks in ((2, 3, 4) if ALL else (usual,))
]


@pytest.mark.parametrize(("family", "ranks"), CASES)
def test_family(family: str, ranks: int, build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, ranks, build(f"mpi/{family}.c", "-O1", "-w"))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == [f"{rank}: good" for rank in range(ranks)]
    job.expect_equal()


def test_spawned_processes_are_ranks_of_the_job(build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, 2, build("mpi/spawn.c", "-O1"), "meet")
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good", "child 0: good", "child 1: good"]
    assert sorted(path.name for path in job.path.glob("rank-*")) == [f"rank-{n}" for n in range(4)]
    replace(job, ranks=4).expect_equal()
