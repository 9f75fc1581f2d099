"""MPI-IO: programs that assert what they read; a replay touches no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build
from mpijob import lines, mpirun, record


def test_files(build: Build, tmp_path: Path) -> None:
    data = tmp_path / "data"
    job = record(tmp_path, 2, build("mpi/io_files.c", "-O1"), data)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: files", "1: files"]
    assert not data.exists(), "the program deletes it"
    job.expect_equal()
    assert not data.exists()


@pytest.mark.parametrize("writable", [(), ("writable",)])
def test_files_that_are_mapped(build: Build, tmp_path: Path, writable: tuple[str, ...]) -> None:
    """Of what MPI writes the mappings show as much as natively, and in a replay."""
    program = build("mpi/file_mapped.c", "-O1", "-w")
    native = mpirun(1, program, tmp_path / "native", *writable)
    done = record(tmp_path, 1, program, tmp_path / "file", *writable)
    assert (done.result.returncode, done.result.stdout) == (0, native.stdout), done.result.stderr
    assert "again: 14 12 13 0 99" in native.stdout
    done.expect_equal()
