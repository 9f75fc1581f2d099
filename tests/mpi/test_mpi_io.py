"""MPI-IO: programs that assert what they read; a replay touches no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build
from mpijob import launch, lines, record
from mpis import MPICC, MPIRUN, needs
from mpis import record as record_over


def test_files(build: Build, tmp_path: Path) -> None:
    data = tmp_path / "data"
    job = record(tmp_path, 2, build("mpi/io_files.c", "-O1"), data)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: files", "1: files"]
    assert not data.exists(), "the program deletes it"
    job.expect_equal()
    assert not data.exists()


@pytest.mark.parametrize("writable", [(), ("writable",)], ids=["read-only", "writable"])
@pytest.mark.parametrize("size", [1, 4096, 192 << 10])
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_files_that_are_mapped(
    build: Build, tmp_path: Path, name: str, size: int, writable: tuple[str, ...]
) -> None:
    """Of what MPI writes, in each way, the mappings show as much as natively, and in a replay."""
    needs(name)
    program = build("mpi/file_mapped.c", "-O1", "-w", compiler=MPICC[name])
    arguments = (str(size), *writable)
    native = launch(MPIRUN[name], 1, program, tmp_path / "native", *arguments)
    done = record_over(tmp_path, name, 1, program, tmp_path / "file", *arguments)
    assert (done.result.returncode, done.result.stdout) == (0, native.stdout), done.result.stderr
    assert len(native.stdout.splitlines()) == 33
    assert "is open for writing through MPI" in (done.path / "rank-0/cautions").read_text()
    done.expect_equal()


@pytest.mark.parametrize("size", [64, 300_000])
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_mapped_file_that_all_ranks_write(
    build: Build, tmp_path: Path, name: str, size: int
) -> None:
    needs(name)
    program = build("mpi/file_mapped_ranks.c", "-O1", "-w", compiler=MPICC[name])
    (tmp_path / "native").touch()
    (tmp_path / "file").touch()
    native = launch(MPIRUN[name], 2, program, tmp_path / "native", str(size))
    done = record_over(tmp_path, name, 2, program, tmp_path / "file", str(size))
    assert (done.result.returncode, done.result.stdout) == (0, native.stdout), done.result.stderr
    done.expect_equal()
