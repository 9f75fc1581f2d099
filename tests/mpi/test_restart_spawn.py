"""rdb restart of a job whose ranks start others (MPI_Comm_spawn): from before that, and after it.

`make test` restarts at a few events; RDB_TEST_LIVE=50 (make test-live) at 20.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import openmpi
import pytest
from conftest import Build, run_rdb
from events import events_called, finalized, written
from openmpi import OVERSUBSCRIBE

from rdb.errors import RdbError
from rdb.live.cut.consistent import Traffic
from rdb.live.cut.worlds import there
from rdb.live.plan import make_plan
from rdb.recording import Job, open_job
from rdb.recording.mpi.communication import RankCommunication

SAID = ["0: good", "1: good", "child 0: good", "child 1: good"]
MANY = min(int(os.environ.get("RDB_TEST_LIVE", "0")), 20)
BEFORE, WITH_TWO, WITH_FOUR = (0, 1), (0, 1, 2, 3), (0, 1, 2, 3, 4, 5)


@pytest.fixture(autouse=True, scope="module")
def many_processes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_MCA_pml", "ob1")
        patch.setenv("OMPI_MCA_btl", "self,vader,tcp")
        for name, value in OVERSUBSCRIBE.items():  # six, whatever it has
            patch.setenv(name, value)
        yield


class Worlds:
    """A job of two ranks that starts two processes, and later two of two commands."""

    def __init__(self, folder: Path, name: str, said: list[str]) -> None:
        self.folder, self.name, self.said = folder, name, said
        self.job: Job = open_job(folder / "home" / name)
        self.traffic = Traffic(self.job)

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.folder / "home", self.folder, *arguments)

    def cuts(self, seed: int) -> Iterator[tuple[int, int, dict[int, int]]]:
        """Rank, event, and the cut of those that are there."""
        chosen = random.Random(seed)
        while True:
            rank = chosen.choice(self.job.ranks)
            event = chosen.randrange(self.job.rank(rank).last_event)
            try:
                events = self.traffic.cut(rank, event).events
                ranks = there(self.job, self.traffic.started(), events).ranks
            except RdbError as error:
                assert error.hint is not None and error.hint.startswith("try --at")
                continue
            if rank in ranks and not any(finalized(self.job, one, events[one]) for one in ranks):
                yield rank, event, {one: events[one] for one in ranks}

    def restart(self, rank: int, event: int, cut: dict[int, int], mpi: str, name: str) -> Worlds:
        at = ["--rank", str(rank), "--at", str(event)]
        done = self.rdb("restart", self.name, *at, "--name", name, "--mpi", mpi)
        where = f"{self.name}, rank {rank} at {event}: {cut}, {mpi}"
        assert done.returncode == 0, f"{where}: {done.stderr}"
        again = Counter(done.stdout.splitlines())
        # each line is a write of its own; what was written before the cut is not written again
        assert again <= Counter(self.said), where
        assert again.total() == len(self.said) - written(self.job, cut), where
        branch = Worlds(self.folder, name, sorted(again.elements()))
        assert branch.job.meta["parent"]["cut"] == {str(one): at for one, at in cut.items()}
        return branch


def recorded(folder: Path, program: Path, *arguments: str) -> Worlds:
    line = ["run", "-n", "2", "--name", "job", "--", str(program), *arguments]
    done = run_rdb(folder / "home", folder, *line)
    assert done.returncode == 0, done.stderr
    return Worlds(folder, "job", sorted(done.stdout.splitlines()))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory, build: Build, many_processes: None) -> Worlds:
    if not openmpi.several_commands():
        pytest.skip("without rdb, too, this mpirun crashes at MPI_Comm_spawn_multiple")
    job = recorded(tmp_path_factory.mktemp("worlds"), build("mpi/restarted_worlds.c"), "12")
    assert len(job.said) == 6
    return job


def test_their_messages_are_matched(worlds: Worlds) -> None:
    among = Counter((one.source // 2, one.destination // 2) for one in worlds.traffic.messages)
    assert set(among) == {(0, 1), (1, 0), (0, 2), (2, 0)}
    assert all(one.received is not None for one in worlds.traffic.messages)
    said = worlds.job.rank(2)
    (first, *_) = events_called(said, "MPI_Send(")
    assert " to rank 0 of the job" in said.describe(first)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [BEFORE, WITH_TWO, WITH_FOUR], ids=len)
def test_random_cuts(worlds: Worlds, ranks: tuple[int, ...]) -> None:
    """Results are those of the uninterrupted run; over Open MPI, and over MPICH where nothing is
    started later (Debian's cannot, with or without rdb); and so are those of a branch of each."""
    seed = random.randrange(1 << 32) if MANY else 7
    print(f"seed {seed}")
    chosen = (one for one in worlds.cuts(seed) if tuple(one[2]) == ranks)
    mpis = ["openmpi", "mpich"] if ranks == WITH_FOUR else ["openmpi"]
    for number in range(MANY or len(mpis)):
        rank, event, cut = next(chosen)
        branch = worlds.restart(rank, event, cut, mpis[number % len(mpis)], "branch")
        verified = branch.rdb("replay", "branch", "--verify")
        assert verified.returncode == 0, verified.stderr
        again = next((one for one, _ in zip(branch.cuts(seed), range(1), strict=False)), None)
        if again is not None:
            last = mpis[(number + 1) % len(mpis)] if len(again[2]) == 6 else "openmpi"
            branch.restart(*again, last, "again")
            branch.rdb("rm", "again")
        branch.rdb("rm", "branch")


def test_they_are_started_again(tmp_path: Path, build: Build) -> None:
    home = tmp_path / "home"
    program = str(build("mpi/spawn.c"))
    done = run_rdb(home, tmp_path, "run", "-n", "2", "--name", "job", "--", program, "meet")
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == SAID, done.stderr
    recording = open_job(home / "job").rank(0)
    (spawns,) = events_called(recording, "MPI_Comm_spawn(")
    for at, name in ((spawns - 1, "before"), (spawns, "after")):
        again = run_rdb(home, tmp_path, "restart", "job", "--at", str(at), "--name", name)
        assert again.returncode == 0 and sorted(again.stdout.splitlines()) == SAID, again.stderr
        assert open_job(home / name).ranks == [0, 1, 2, 3]
    early = run_rdb(home, tmp_path, "restart", "job", "--rank", "2", "--at", "0", "--plan")
    assert early.returncode == 1 and "rank 2 has not called MPI_Init yet at event 0" in early.stderr


def test_who_have_not_started_each_other(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three worlds of one process: the first and the last meet by way of the second."""
    for name, value in openmpi.REDUCES.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    line = ["run", "-n", "1", "--name", "job", "--", str(build("mpi/bridge.c"))]
    done = run_rdb(home, tmp_path, *line)
    said = [f"depth {depth}: good" for depth in range(3)]
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == said, done.stderr
    ring = events_called(open_job(home / "job").rank(1), "MPI_Sendrecv(")[2]
    for mpi in ("openmpi", "mpich"):
        at = ["--rank", "1", "--at", str(ring), "--mpi", mpi, "--name", mpi]
        again = run_rdb(home, tmp_path, "restart", "job", *at)
        assert again.returncode == 0 and sorted(again.stdout.splitlines()) == said, again.stderr


def can_be_had(job: Job, cut: dict[int, int]) -> bool:
    """Not the sockets: their address is not free for a while."""
    for rank, event in cut.items():
        opened = events_called(job.rank(rank), "socket(", "MPI_Comm_join(")
        if opened and opened[0] <= event <= events_called(job.rank(rank), "close(")[-1]:
            return False
    return True


def test_who_meet(tmp_path: Path, build: Build) -> None:
    """MPI_Comm_accept, MPI_Comm_connect and MPI_Comm_join; over MPICH, which cannot, from later."""
    job = recorded(tmp_path, build("mpi/restarted_meet.c"))
    first = job.job.rank(0)
    seed = random.randrange(1 << 32) if MANY else 1
    print(f"seed {seed}")
    good = (one for one in job.cuts(seed) if can_be_had(job.job, one[2]))
    for _ in range(MANY or 2):
        branch = job.restart(*next(good), "openmpi", "branch")
        again = (one for one in branch.cuts(seed) if can_be_had(branch.job, one[2]))
        branch.restart(*next(again), "openmpi", "again")
        branch.rdb("rm", "again")
        branch.rdb("rm", "branch")
    late = events_called(first, "MPI_Allreduce(")[-3]
    job.restart(0, late, job.traffic.cut(0, late).events, "mpich", "late")


@pytest.mark.slow
def test_ports_and_names(tmp_path: Path, build: Build) -> None:
    """They have other names below, which no rank sees, and a branch of a branch has them again."""
    job = recorded(tmp_path, build("mpi/restarted_ports.c"))
    assert job.said == ["0: good", "1: good"]
    first = job.job.rank(0)
    for call, name in (("MPI_Open_port(", "opened"), ("MPI_Publish_name(", "published")):
        (event,) = events_called(first, call)
        branch = job.restart(0, event, job.traffic.cut(0, event).events, "openmpi", name)
        verified = branch.rdb("replay", name, "--verify")
        assert verified.returncode == 0, verified.stderr
        (accepts,) = events_called(branch.job.rank(0), "MPI_Comm_accept(")
        for at in (accepts - 1, accepts):
            branch.restart(0, at, branch.traffic.cut(0, at).events, "openmpi", "again")
            branch.rdb("rm", "again")
    refused = job.rdb("restart", "job", "--at", str(event), "--mpi", "mpich")  # Debian's has none
    assert refused.returncode != 0
    assert "MPI_Open_port: its port cannot be opened again over this MPI" in refused.stderr


def test_who_are_not_known(tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """Older rdbs have said -1 of all processes of another MPI_COMM_WORLD."""
    job = recorded(tmp_path, build("mpi/spawn.c")).job
    (spawns,) = events_called(job.rank(0), "MPI_Comm_spawn(")
    monkeypatch.setattr(
        RankCommunication,
        "_rank",
        lambda self, peer: peer + self._world_first if peer >= 0 else -1,
    )
    assert sorted(make_plan(job, 0, str(spawns - 1)).ranks) == [0, 1]
    with pytest.raises(RdbError, match="the log does not name them"):
        make_plan(job, 0, str(spawns))
