"""rdb restart of MPI ranks with child processes: those that live at the cut go on with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from events import events_called

from rdb.recording import Job, open_job

RANKS = 2


class Recorded:
    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        done = self.rdb("run", "-n", str(RANKS), "--name", "job", "--", str(program))
        assert done.returncode == 0, done.stderr
        self.said = sorted(done.stdout.splitlines())
        assert len(self.said) == RANKS
        self.job: Job = open_job(self.home / "job")

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def event(self, rank: int, call: str, which: int = 0) -> int:
        return events_called(self.job.rank(rank), call)[which]

    def restart(
        self, job: Job, rank: int, event: int, mpi: str, name: str, whole: bool = True
    ) -> Job:
        where = f"{job.name}, rank {rank} at {event}, {mpi}"
        at = ["--rank", str(rank), "--at", str(event)]
        done = self.rdb("restart", job.name, *at, "--name", name, "--mpi", mpi)
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert set(done.stdout.splitlines()) <= set(self.said), where
        assert whole is False or sorted(done.stdout.splitlines()) == self.said, where
        verified = self.rdb("replay", name, "--verify")
        assert verified.returncode == 0, f"{where}: {verified.stderr}"
        return open_job(self.home / name)


@pytest.fixture(scope="module")
def helpers(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("helpers"), build("mpi/restarted_helpers.c"))


def test_helpers_go_on_with_their_ranks(helpers: Recorded) -> None:
    """Over the other MPI, and in a branch of the branch."""
    at = helpers.event(1, "MPI_Allreduce", 1)
    branch = helpers.restart(helpers.job, 1, at, "mpich", "first")
    assert [set(branch.process(rank).children) for rank in range(RANKS)] == [{2}, {2, 3}]
    second = helpers.restart(branch, 0, 1, "openmpi", "second")
    assert [set(second.process(rank).children) for rank in range(RANKS)] == [{2}, {2, 3}]


def test_those_that_have_ended_need_nothing(helpers: Recorded) -> None:
    at = ["--rank", "0", "--at", str(helpers.event(0, "MPI_Barrier"))]
    planned = helpers.rdb("restart", "job", *at, "--plan")
    assert planned.returncode == 0 and "process 0." not in planned.stdout, planned.stdout
    at = ["--rank", "1", "--at", str(helpers.event(1, "MPI_Allreduce", 1))]
    planned = helpers.rdb("restart", "job", *at, "--plan")
    assert "process 1.1" not in planned.stdout  # that of system(3)
    for one in ("1.2", "1.3"):
        assert f"process {one}: replay to event" in planned.stdout, planned.stdout
