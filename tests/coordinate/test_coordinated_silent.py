"""Checkpoints that are asked for while a rank is in a call in which it waits for others unseen."""

from __future__ import annotations

import time
from pathlib import Path

import deadlines
import openmpi
import pytest
from conftest import Build
from running import DEADLINE_S, Running

from rdb.coordinate.board import Board, board_path
from rdb.errors import DamagedRecording

GO_ON_S = 45.0
"""Less than a rank is held at most: it has to be let go sooner."""


def asked(path: Path) -> bool:
    try:
        return path.exists() and Board(path).wanted > 0
    except DamagedRecording:  # it is being made
        return False


CALLS = ["init", "finalize", "lock", "split", "window", "file"]
CASES = [(call, mpi) for call in CALLS for mpi in ("openmpi", "mpich")]
CASES += [("spawn", "openmpi"), ("meet", "openmpi")]  # Debian's MPICH, over UCX, can neither


@pytest.mark.parametrize(("call", "mpi"), CASES)
def test_the_job_goes_on(
    call: str, mpi: str, tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (openmpi.OVERSUBSCRIBE | openmpi.REACHABLE).items():
        monkeypatch.setenv(name, value)
    line = ("--checkpoint-every", "1s", "--mpi", mpi, "-n", "2", "--")
    program = str(build("mpi/coordinated_silent.c"))
    job = Running(tmp_path / "home", tmp_path, call, *line, program, call, "gate")
    until = deadlines.Deadline(DEADLINE_S)
    while not asked(board_path(job.home / call)):
        assert not until.over() and job.process.poll() is None
        time.sleep(0.02)
    (tmp_path / "gate").touch()
    said, told = deadlines.communicate(job.process, GO_ON_S)
    assert job.process.returncode == 0, told
    assert sorted(said.splitlines()) == ["rank 0 is through", "rank 1 is through"]
