"""MPI-IO: programs that assert what they read; a replay touches no file."""

from __future__ import annotations

from pathlib import Path

from conftest import Build
from mpijob import lines, record


def test_files(build: Build, tmp_path: Path) -> None:
    data = tmp_path / "data"
    job = record(tmp_path, 2, build("mpi/io_files.c", "-O1"), data)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: files", "1: files"]
    assert not data.exists(), "the program deletes it"
    job.expect_equal()
    assert not data.exists()
