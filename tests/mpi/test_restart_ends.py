"""rdb restart of MPI jobs where some or all of the ranks have called MPI_Finalize."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from events import events_called
from restarting import restart_at

from rdb.live.cut.consistent import Traffic
from rdb.recording import Job, open_job

RANKS = 3


class Ends:
    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.done = self.rdb("run", "-n", str(RANKS), "--name", "job", "--", str(program))
        assert self.done.returncode == 0, self.done.stderr
        self.said = Counter(self.done.stdout.splitlines())
        assert self.said.total() == 4 * RANKS

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def job(self, name: str = "job") -> Job:
        return open_job(self.home / name)

    def ends(self) -> list[tuple[int, int, int]]:
        """Time, rank and event of each MPI_Finalize, the first one first."""
        job = self.job()
        events = {rank: events_called(job.rank(rank), "MPI_Finalize(")[0] for rank in job.ranks}
        return sorted((job.rank(rank).event(at).at_ns, rank, at) for rank, at in events.items())


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Ends:
    return Ends(tmp_path_factory.mktemp("ends"), build("mpi/restarted_ends.c"))


def restarted(ends: Ends, which: int, later: int, mpi: str) -> None:
    _, rank, at = ends.ends()[which]
    job = ends.job()
    cut = Traffic(job).cut(rank, at + later)

    def rdb(*arguments: str) -> subprocess.CompletedProcess[str]:
        over = ["--mpi", mpi] if arguments[0] == "restart" else []
        return ends.rdb(*arguments, *over)

    restart_at(rdb, job, ends.said, rank, at + later, cut, f"{rank} at {at + later}, {mpi}")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_the_first_has_left(ends: Ends, mpi: str) -> None:
    """The others go on to MPI_Finalize, and what it does afterwards is done."""
    _, rank, at = ends.ends()[0]
    cut = Traffic(ends.job()).cut(rank, at)
    assert any(until < event for _, one, event in ends.ends() for until in [cut.events[one]])
    restarted(ends, 0, 0, mpi)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_all_have_left(ends: Ends, mpi: str) -> None:
    restarted(ends, -1, 2, mpi)


def test_the_end(ends: Ends) -> None:
    """Of the first rank, which has nothing left to do."""
    done = ends.rdb("restart", "job", "--name", "over")
    assert done.returncode == 0, done.stderr
    assert Counter(done.stdout.splitlines()) <= ends.said
    assert "0: " not in done.stdout


def test_a_branch_that_began_there(ends: Ends) -> None:
    _, rank, at = ends.ends()[0]
    done = ends.rdb("restart", "job", "--rank", str(rank), "--at", str(at), "--name", "first")
    assert done.returncode == 0, done.stderr
    branch = ends.job("first")
    other = next(one for one in branch.ranks if events_called(branch.rank(one), "MPI_Finalize("))
    before = events_called(branch.rank(other), "MPI_Finalize(")[0] - 1
    for mpi in ("mpich", "openmpi"):
        name = f"second-{mpi}"
        line = ["--rank", str(other), "--at", str(before), "--name", name, "--mpi", mpi]
        again = ends.rdb("restart", "first", *line)
        assert again.returncode == 0, again.stderr
        assert Counter(again.stdout.splitlines()) <= Counter(done.stdout.splitlines())
        turns = Counter(line for line in done.stdout.splitlines() if line.startswith(f"{other}: t"))
        assert turns.total() == 3 and turns <= Counter(again.stdout.splitlines())
        verified = ends.rdb("replay", name, "--verify")
        assert verified.returncode == 0, verified.stderr
