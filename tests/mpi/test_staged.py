"""What is received goes to the program's own buffer, or, for a log, through memory used before."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from conftest import Build
from mpis import launch, needs

HOWS = ("plain", "derived", "persistent", "matched", "exchange", "collective")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_HOME", str(tmp_path))


def _said(mpi: str, record: str, build: Build, *how: str | Path) -> list[int]:
    needs(mpi)
    program = build("mpi/staged.c", compiler=f"mpicc.{mpi}")
    line = [sys.executable, "-m", "rdb", "exec", f"--record={record}", "--", program, *how]
    done = launch(mpi, 1, *line)
    assert done.returncode == 0 and ", equal" in done.stdout, done.stdout + done.stderr
    return [int(number) for number in re.findall(r"\d+", done.stdout)]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_without_a_log_nothing_is_kept_apart(mpi: str, how: str, build: Build) -> None:
    grown_mb, all_mb = _said(mpi, "off", build, how)
    assert grown_mb < all_mb / 2


@pytest.mark.parametrize("record", ["order", "full"])
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_memory_for_the_log_is_used_again(mpi: str, record: str, build: Build) -> None:
    """The kernel clears no new pages for later windows of receives."""
    windows, *_ = _said(mpi, record, build, "faults")
    assert windows < 2, "of 8 windows"


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_memory_for_reads_of_files_is_used_again(mpi: str, build: Build, tmp_path: Path) -> None:
    windows, *_ = _said(mpi, "order", build, "faults", tmp_path / "file")
    assert windows < 2, "of 8 windows"
