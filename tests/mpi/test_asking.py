"""Programs that ask in vain, over and over: ended anywhere, by any signal, recordings open."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import deadlines
import mpijob
import pytest
from asking import Line, alone, under_mpi
from conftest import TIMEOUT_S, Build
from cutting import Cuttable
from faults import Rank

from rdb.recording import RankRecording
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

CALLS = (
    *("poll", "ppoll", "select", "pselect", "epoll", "epoll_pwait", "read", "recv", "ioctl"),
    *("yield", "clock", "gettimeofday", "time", "tsc", "nanosleep", "futex", "futex_timeout"),
    *("waitpid", "kill", "sigtimedwait"),
)
MPI_CALLS = (
    *(("test", n) for n in (1, 2, 7, 8, 9)),
    *(("testany", n) for n in (1, 3)),
    *(("testsome", n) for n in (1, 3)),
    *(("testall", n) for n in (1, 3)),
    *(("iprobe", n) for n in (1, 4)),
    *(("improbe", n) for n in (1, 4)),
    *(("get_status", n) for n in (1, 4)),
    *(("test_persistent", 3), ("wtime", 1)),
    *((f"get_status_{which}", 3) for which in ("any", "some", "all")),
    ("parrived", 1),
)
SIGNALS = ("SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGINT", "SIGHUP", "SIGBUS", "SIGALRM")
ALL = os.environ.get("RDB_TEST_MPI") == "all"
TURNS = 21
FEW = 500  # events of a loop that is ended from outside


def record(line: Line) -> None:
    done = deadlines.run(line, TIMEOUT_S, text=False)
    assert (done.returncode, done.stdout) == (3, b"begins\n"), done.stderr


def expect_to_open(recording: RankRecording, how: str | None = None) -> None:
    """At its very end, from where one goes back and comes again."""
    with Timeline(recording) as timeline:
        stopped = timeline.goto_end()
        assert stopped.reason == "end" and "somewhere" not in stopped.text, stopped
        if how is not None:
            assert how in stopped.text
        assert timeline.at_end and timeline.event == recording.last_event
        end, registers = timeline.name(), timeline.gpr
        assert timeline.step(forward=False).reason == "step"
        assert timeline.gpr != registers
        timeline.seek(Position.parse(str(end)))
        assert timeline.gpr == registers and timeline.at_end


def expect_cuts_to_open(rank: Rank) -> None:
    log = Cuttable(rank.path)
    assert len(log.events) > TURNS
    for event in log.events[-TURNS - 3 :]:  # as many turns, and what follows them
        log.cut(event)
        recording = rank.recording()
        assert recording.damage is None and recording.last_event == event
        expect_to_open(recording)


@pytest.mark.parametrize("call", CALLS)
def test_cut_after_each_turn(build: Build, tmp_path: Path, call: str) -> None:
    rank = Rank.make(tmp_path)
    record(alone(rank, build, call, str(TURNS)))
    expect_cuts_to_open(rank)


@pytest.mark.parametrize(("call", "requests"), MPI_CALLS)
def test_cut_after_each_turn_of_mpi(build: Build, tmp_path: Path, call: str, requests: int) -> None:
    rank = Rank.make(tmp_path)
    record(under_mpi(rank, build, call, requests, str(max(TURNS, 3 * requests))))
    expect_cuts_to_open(rank)


def test_cut_after_each_turn_of_a_window(build: Build, tmp_path: Path) -> None:
    """Of two ranks: one alone has no windows everywhere."""
    program = build("mpi/asking.c", "-O1", compiler="mpicc")
    job = mpijob.record(tmp_path, 2, program, "win_test", "1", str(TURNS), hash_every=1000)
    assert job.result.returncode == 3, job.result.stderr
    for rank in range(2):
        expect_cuts_to_open(Rank(job.path / f"rank-{rank}", job.files))


@contextmanager
def looping(line: Line, rank: Rank) -> Iterator[subprocess.Popen[bytes]]:
    """It has begun, and has asked a number of times."""
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"begins\n"
            deadline = deadlines.Deadline(TIMEOUT_S)
            began = rank.recording().last_event
            while rank.recording().last_event < began + FEW:
                assert not deadline.over() and process.poll() is None
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def expect_end_by(rank: Rank, line: Line, name: str, opened_before: bool) -> None:
    number = signal.Signals[name]
    with looping(line, rank) as process:
        running = rank.recording()
        assert running.state == "running"
        if opened_before:
            expect_to_open(running)
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == -number
    recording = rank.recording()
    assert recording.state == ("killed" if name == "SIGKILL" else f"signal {int(number)}")
    expect_to_open(recording)


def three_of_them(turn: int) -> tuple[str, ...]:
    """Each time others; with RDB_TEST_MPI=all each signal."""
    at = 3 * turn % len(SIGNALS)
    return SIGNALS if ALL else (SIGNALS * 2)[at : at + 3]


@pytest.mark.parametrize("call", CALLS)
def test_ended_by_a_signal(build: Build, tmp_path: Path, call: str) -> None:
    names = three_of_them(CALLS.index(call))
    for name in names:
        rank = Rank.make(tmp_path / name)
        expect_end_by(rank, alone(rank, build, call), name, name == names[0])


@pytest.mark.parametrize(("call", "requests"), MPI_CALLS)
def test_ended_by_a_signal_in_mpi(build: Build, tmp_path: Path, call: str, requests: int) -> None:
    names = three_of_them(MPI_CALLS.index((call, requests)))
    for name in names:
        rank = Rank.make(tmp_path / name)
        expect_end_by(rank, under_mpi(rank, build, call, requests), name, name == names[0])


@pytest.mark.parametrize("name", SIGNALS)
def test_a_window_is_asked_until_a_signal(build: Build, tmp_path: Path, name: str) -> None:
    program = build("mpi/asking.c", "-O1", compiler="mpicc")
    number = int(signal.Signals[name])
    how = ("win_test", "1", "0", str(number))
    job = mpijob.record(tmp_path, 2, program, *how, hash_every=1000)
    assert job.result.returncode != 0
    ends = [job.rank(rank).state for rank in range(2)]
    assert f"signal {number}" in ends or (name == "SIGKILL" and "killed" in ends), ends
    for rank in range(2):
        expect_to_open(job.rank(rank))
