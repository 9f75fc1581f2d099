"""A program for each family of MPI functions: right under rdb, and each rank replays alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build
from mpijob import lines, record

FAMILIES = {"collectives_nonblocking": 3, "neighbors": 3, "requests": 2}


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, build: Build, tmp_path: Path) -> None:
    ranks = FAMILIES[family]
    job = record(tmp_path, ranks, build(f"mpi/{family}.c", "-O1"))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == [f"{rank}: good" for rank in range(ranks)]
    job.expect_equal()
