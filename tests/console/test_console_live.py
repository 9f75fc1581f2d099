"""A job that runs: opened, followed, paused, resumed; through a pseudo-terminal."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import deadlines
import pytest
from conftest import run_rdb
from terminal import Terminal

import rdb.session.session as session_module
from rdb.recording import open_job
from rdb.session.following import follow
from rdb.session.session import Session
from rdb.timeline.timeline import Timeline

DEADLINE_S = 120


class Running:
    """The job and its store."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self.home = home
        self.process = process

    def events(self, rank: int) -> int:
        return open_job(self.home / "live").rank(rank).last_event

    def until_after(self, event: int) -> None:
        deadline = deadlines.Deadline(DEADLINE_S)
        while self.events(0) <= event:
            assert self.process.poll() is None, "the job has ended"
            assert not deadline.over(), "the job does not go on"
            time.sleep(0.02)


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path]
) -> Iterator[Running]:
    home = tmp_path_factory.mktemp("home")
    stop = home / "stop"
    process = subprocess.Popen(
        [sys.executable, "-m", "rdb", "run", "--name", "live", "-n", "2", "--",
         build("mpi/live.c", "-O0"), stop],
        env={**os.environ, "RDB_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        deadline = deadlines.Deadline(DEADLINE_S)
        while len(list(home.glob("live/rank-*/ckpt-*.img"))) < 2:
            assert process.poll() is None and not deadline.over()
            time.sleep(0.05)
        made = Running(home, process)
        made.until_after(20)
        yield made
        stop.touch()
        assert deadlines.wait(process, DEADLINE_S) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_the_present_of_a_job_that_runs(running: Running) -> None:
    recording = open_job(running.home / "live").rank(0)
    end = recording.last_event
    running.until_after(end + 20)
    assert recording.grown()
    with Timeline(recording) as timeline:  # the log has more by now than when it was opened
        assert timeline.last_event == end
        timeline.goto_end()
        there = timeline.name()
        assert timeline.at_end and timeline.event == end
        origin = timeline.travel.origin.agent.pid
        known, read = recording.index.count, recording.index.read
        timeline.renew()
        assert timeline.name() == there and not timeline.at_end
        # only what is new was read, and no replica was started again
        assert recording.index.read - read <= recording.index.count - known + 1
        assert timeline.travel.origin.agent.pid == origin
        assert timeline.last_event >= end + 20
        timeline.goto_end()
        assert timeline.at_end and timeline.event == timeline.last_event


def test_what_has_grown_is_read_once(running: Running) -> None:
    """By what `follow` looks with."""
    glance = open_job(running.home / "live").rank(0).glance()
    end, index = glance.last_event, glance._index
    running.until_after(end + 20)
    known, read = index.count, index.read
    glance.refresh()
    assert glance.last_event >= end + 20 and glance._index is index
    assert index.read - read <= index.count - known + 1


def test_a_restart_begins_where_all_logs_have_come_to(running: Running) -> None:
    """They are read one after the other while the job runs; here with some turns between."""
    job, copy = running.home / "live", running.home / "read"
    shutil.copytree(job, copy, ignore=shutil.ignore_patterns("rank-1"))
    end = open_job(copy).rank(0).last_event
    running.until_after(end + 20)
    shutil.copytree(job / "rank-1", copy / "rank-1")
    for where in ((), ("--rank", "1"), ("--rank", "1", "--at", str(end // 2))):
        done = run_rdb(running.home, running.home, "restart", "read", "--plan", *where)
        assert done.returncode == 0, done.stderr
        assert "no message is received before it is sent" in done.stdout
    last = open_job(copy).rank(1).last_event
    never = run_rdb(
        running.home, running.home, "restart", "read", "--plan", "--rank", "1", "--at", str(last)
    )
    assert (
        never.returncode == 1
        and "the recordings of other ranks end before this point; try --at " in never.stderr
    )


def test_follow_pause_and_resume(running: Running) -> None:
    terminal = Terminal(running.home, "live", 100)
    terminal.until("live [0-1]")

    def turn() -> int:
        found = re.search(
            r"^0(-1)?: (?:\$\d* = )?(\d+)$", terminal.type("print turn", "live [0-1]"), re.M
        )
        assert found
        return int(found[2])

    before = turn()
    running.until_after(running.events(0) + 20)
    assert turn() == before  # what was opened stays as it was
    shown = terminal.type("follow", "live [0-1]")
    assert "(end of the recording)" in shown
    later = turn()
    assert later > before
    terminal.type("undo", "live [0-1]")
    assert turn() == before
    terminal.type("redo", "live [0-1]")
    assert turn() == later

    assert "0-1: paused" in terminal.type("pause", "live [0-1]")
    assert len(re.findall(r"^\* +\d +paused ", terminal.type("ranks", "live [0-1]"), re.M)) == 2
    listed = run_rdb(running.home, running.home, "ls")
    assert re.search(r"^live .* paused ", listed.stdout, re.M)
    held = [running.events(rank) for rank in range(2)]
    terminal.type("follow", "live [0-1]")
    terminal.type("follow", "live [0-1]")
    assert [running.events(rank) for rank in range(2)] == held
    assert "0-1: running" in terminal.type("resume", "live [0-1]")
    running.until_after(held[0] + 4)

    # A session that is left lets go what it has paused.
    assert "0-1: paused" in terminal.type("pause", "live [0-1]")
    held = [running.events(rank) for rank in range(2)]
    terminal.leave()
    running.until_after(held[0] + 4)


def test_following_ranks_without_gdbs(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "FEW", 0)

    async def scenario() -> None:
        async with Session(open_job(running.home / "live")) as session:
            await session.set_focus(session.ranks)
            assert await follow(session) == {0: "", 1: ""}
            before = session.states
            running.until_after(before[0].event + 20)
            turns = await session.look(lambda gdb: gdb.value("turn"))
            assert session.states == before
            await follow(session)
            assert session.waiting == (0, 1)
            assert session.states[0].event > before[0].event
            after = await session.look(lambda gdb: gdb.value("turn"))
            assert int(str(after[0])) > int(str(turns[0]))

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))
