"""Checkpoints without a log of ranks on hosts that have no disk in common: each keeps its own."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build

from cluster.disks import Disks, disks
from cluster.host import until
from cluster.test_coordinated import sums
from rdb.coordinate.board import Board, State, board_path
from rdb.coordinate.coordinated import committed
from rdb.errors import DamagedRecording

pytestmark = pytest.mark.cluster
RANKS = 3


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Disks]:
    yield from disks(tmp_path_factory.mktemp("apart-off"), build, ("mpi/coordinated_mpi.c",))


class Job:
    """Ranks 0 and 1 on node1, rank 2 on node2; rank 0 waits half-way for a file."""

    def __init__(self, apart: Disks, name: str, *line: object) -> None:
        self.apart, self.name = apart, name
        self.output = apart.folder / f"{name}.out"
        words = [*apart.command, *map(str, line)]
        self.process = apart.head.start(*words, cwd="/tmp", env=apart.env, output=self.output)

    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def checkpoint(self) -> subprocess.CompletedProcess[str]:
        return self.apart.rdb("checkpoint", self.name, "--timeout", "60")

    def until(self, what: str, condition: object) -> None:
        until(what, lambda: self.process.poll() is not None or condition())  # type: ignore[operator]
        assert self.process.poll() is None, self.said()

    def ends(self) -> int:
        (self.apart.folder / "gate").touch()
        return self.process.wait(90)


@pytest.fixture(scope="module")
def half(apart: Disks) -> Job:
    """Half-way, with two checkpoints."""
    hosts = apart.host_file("two", "node1:2", "node2:1")
    line = ["run", "--record=off", "-n", RANKS, "--hosts", hosts, "--name", "half", "--"]
    program = [apart.folder / "coordinated_mpi", "20", apart.folder / "gate"]
    job = Job(apart, "half", *line, *program)
    job.until("rank 0 half-way", lambda: "\nhalf\n" in job.said())
    for number in (1, 2):
        taken = job.checkpoint().stdout.splitlines()
        assert [line.split(",")[0] for line in taken] == [
            f"rank {rank}: checkpoint {number}" for rank in range(RANKS)
        ]
        assert number > 1 or not any(", 0.0 MB" in line for line in taken), taken
    return job


def states(board: Path) -> list[State]:
    """Of the ranks, as a host knows them; none while it is being made."""
    try:
        return [slot.state for slot in Board(board).slots()]
    except (FileNotFoundError, DamagedRecording):
        return []


def on_disk(apart: Disks, number: int, name: str) -> list[int]:
    """Checkpoints that are some, as that host knows."""
    return [one.number for one in committed(apart.disk(number) / name)]


def test_each_host_keeps_its_own_and_all_know(apart: Disks, half: Job) -> None:
    """A pack, made while it runs, gathers them."""
    assert apart.ranks(0, "half") == [] and on_disk(apart, 0, "half") == []
    assert apart.ranks(1, "half") == [0, 1] and apart.ranks(2, "half") == [2]
    assert on_disk(apart, 1, "half") == on_disk(apart, 2, "half") == [1, 2]
    apart.rdb("pack", "half", "-o", "/tmp/half.rdb")
    assert apart.ranks(0, "half") == [0, 1, 2] and on_disk(apart, 0, "half") == [1, 2]


def test_it_goes_on_elsewhere_with_checkpoints_of_its_own(apart: Disks, half: Job) -> None:
    hosts = apart.host_file("others", "node3:1", "node4:2")
    again = Job(apart, "again", "restart", "half", "--hosts", hosts, "--name", "again")

    boards = [board_path(str(apart.disk(at) / "again"), f"node{at}") for at in (3, 4)]
    again.until(
        "all go on, and each host knows of all",
        lambda: all(states(board) == [State.RUNS] * RANKS for board in boards),
    )
    assert again.checkpoint().stdout.count(": checkpoint 1,") == RANKS
    assert half.ends() == 0 and again.ends() == 0, half.said() + again.said()
    assert "its newest checkpoint is 2; rdb restart half" in half.said()
    assert sums(again.said()) == sums(half.said()) and len(sums(half.said())) == RANKS
    assert on_disk(apart, 3, "again") == on_disk(apart, 4, "again") == [1]


def test_a_host_lost_during_a_checkpoint(apart: Disks, half: Job) -> None:
    """The last one is valid on all hosts, the one under way on none."""
    gate = apart.folder / "gate"
    half.ends()
    gate.unlink()
    hosts = apart.host_file("two", "node3:2", "node4:1")
    job = Job(apart, "lost", "restart", "half", "--hosts", hosts, "--name", "lost")
    board = board_path(str(apart.disk(4) / "lost"), "node4")
    job.until("rank 2 goes on", lambda: states(board)[2:] == [State.RUNS])
    job.checkpoint()
    pid = str(Board(board).slot(2).pid)
    assert apart.hosts[4].run("kill", "-STOP", pid).returncode == 0
    asked = apart.folder / "asked"
    line = [*apart.command, "checkpoint", "lost", "--timeout", "4"]
    asks = apart.head.start(*line, cwd="/tmp", env=apart.env, output=asked)
    until("its host hears of it", lambda: Board(board).wanted == 2 or asks.poll() is not None)
    apart.hosts[4].lose()
    assert asks.wait(90) == 1 and "Traceback" not in asked.read_text(), asked.read_text()
    assert job.ends() != 0
    assert on_disk(apart, 3, "lost") == on_disk(apart, 4, "lost") == [1]
    hosts = apart.host_file("one", "node1:3")
    line = ["restart", "lost", "--hosts", str(hosts), "--name", "last"]
    refused = apart.head.rdb(*line, cwd="/tmp", env=apart.env)
    assert refused.returncode != 0
    said = "checkpoint 1 of lost lacks the image of rank 2: node4 does not answer; try again"
    assert said in refused.stderr, refused.stderr
    # its disk in another machine
    shutil.copytree(apart.disk(4) / "lost" / "rank-2", apart.disk(3) / "lost" / "rank-2")
    assert sums(apart.rdb(*line).stdout) == sums(half.said())
