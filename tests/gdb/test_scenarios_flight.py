"""Row 33: a nonblocking receive that was on its way when checkpoints were taken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build
from gdbdriver import DEADLINE_S, Gdb, Recorded
from scenario import go

from rdb.recording import RankRecording, open_job


class Flight(Recorded):
    def __init__(self, folder: Path, program: Path, source: Path) -> None:
        self.home = folder / "rdb-home"
        self.source = source
        self.folder = folder
        self.done = self.rdb(
            *("run", "--name", "job", "-n", "2", "--checkpoint-every", "20"),
            *("--hash-every", "1", "--", str(program)),
        )

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return deadlines.run(
            [sys.executable, "-m", "rdb", *arguments],
            DEADLINE_S,
            env={**os.environ, "RDB_HOME": str(self.home)},
            cwd=self.folder,
        )

    def rank(self) -> RankRecording:
        return open_job(self.home / "job").rank(0)


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Flight:
    source = Path("mpi") / "scenario_flight.c"
    made = Flight(tmp_path_factory.mktemp("flight"), build(source, "-O0"), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def gdb(flight: Flight) -> Iterator[Gdb]:
    with flight.gdb() as session:
        yield session


def events(gdb: Gdb, flight: Flight) -> tuple[int, int]:
    """Of the post and of the completion."""
    go(gdb, flight, "posted")
    posted = int(gdb.state()["event"]) + 1
    go(gdb, flight, "filled")
    return posted, int(gdb.state()["event"])


def test_row_33_filled_at_the_same_event(gdb: Gdb, flight: Flight) -> None:
    posted, filled = events(gdb, flight)
    within = [one.event for one in flight.rank().images if posted < one.event < filled]
    assert len(within) >= 2, "no checkpoint was taken while the receive was on its way"
    assert gdb.integer("buffer[0]") == 100 and gdb.integer("buffer[63]") == 163
    assert gdb.integer("small") == 107
    for event in (*within, filled - 1, posted):
        gdb.run(f"goto {event}")
        assert (gdb.integer("buffer[0]"), gdb.integer("small")) == (-1, -1)
        gdb.run("watch buffer")
        gdb.run("continue")
        assert gdb.state()["event"] == filled
        assert (gdb.integer("buffer[63]"), gdb.integer("small")) == (163, 107)
        gdb.run("delete")
    gdb.run("goto END")
    gdb.run("watch buffer[5]")
    gdb.run("reverse-continue")
    assert gdb.state()["event"] == filled - 1
    assert gdb.integer("buffer[5]") == -1
    assert flight.at("wait") in gdb.run("backtrace")


def test_row_33_from_every_checkpoint_alike(flight: Flight) -> None:
    done = flight.rdb("replay", "job", "--rank", "0", "--verify", "--checkpoint", "all", "--json")
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) > 3
    assert all(one["ok"] for one in answers)
