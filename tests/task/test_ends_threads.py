"""A process ends in one thread while others go on, at whatever place these are."""

from __future__ import annotations

import errno
import itertools
import random
import shlex
import signal
import subprocess
from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb, replay_agrees
from faults import DEADLINE_S, NO_MOUNTS, Rank, small_disk
from mpijob import record

from rdb.recording import EndKind

OTHERS = ("calls", "clocks", "reads", "computes", "sleeps", "locks")
#: signal(7): the default is to end the process.  32 and 33 are libc's own.
LETHAL = (*(n for n in range(1, 32) if n not in (9, 17, 18, 19, 20, 21, 22, 23, 28)), 34, 50, 64)


def end(
    folder: Path, program: Path, how: str, number: int, others: str, rounds: int, *options: str
) -> tuple[int, Rank, str]:
    """Exit status, the recording, what was said on stderr."""
    rank = Rank.make(folder)
    command = rank.line(program, how, str(number), others, str(rounds), options=options)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        if how == "process":
            run.send_signal(number)
        _, said = deadlines.communicate(run, DEADLINE_S)
    return run.returncode, rank, said


def expect_whole(rank: Rank, kind: EndKind, value: int) -> None:
    """It opens, says how it ended, and its replay is equal up to there."""
    recording = rank.recording()
    assert recording.end is not None
    assert (recording.end.kind, recording.end.value) == (kind, value)
    code, answer, said = rank.verify()
    assert (code, answer.get("ok")) == (0, True), (answer, said)
    assert answer["events"] == recording.last_event


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("hit", ["process", "itself", "busy", "waiting"])
def test_a_signal_kills(hit: str, others: str, build: Build, tmp_path: Path) -> None:
    program = build("ends_threads.c", "-O1", "-pthread")
    # Each signal comes to every kind of thread, and every kind of work meets several.
    first = OTHERS.index(others)
    for number in itertools.islice(LETHAL, first, None, len(OTHERS)):
        rounds = random.Random(f"{hit} {others} {number}").randrange(10, 400)
        status, rank, said = end(tmp_path / str(number), program, hit, number, others, rounds)
        assert (status, said) == (-number, "")
        expect_whole(rank, EndKind.SIGNAL, number)


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize(
    ("how", "status", "kind", "value"),
    [
        ("abort", -signal.SIGABRT, EndKind.SIGNAL, signal.SIGABRT),
        ("fault", -signal.SIGSEGV, EndKind.SIGNAL, signal.SIGSEGV),
        ("exit", 5, EndKind.EXIT, 5),
        ("exec", 0, EndKind.EXEC, 0),
    ],
)
def test_a_thread_ends_the_process(
    how: str, status: int, kind: EndKind, value: int, others: str, build: Build, tmp_path: Path
) -> None:
    program = build("ends_threads.c", "-O1", "-pthread")
    for n in range(3):
        rounds = random.Random(f"{how} {others} {n}").randrange(10, 400)
        ended, rank, said = end(tmp_path / str(n), program, how, 5, others, rounds)
        assert (ended, said) == (status, "")
        expect_whole(rank, kind, value)


@pytest.mark.parametrize("others", ["calls", "clocks", "reads", "locks"])
def test_the_budget_is_spent(others: str, build: Build, tmp_path: Path) -> None:
    """The program goes on without its recording, in all threads."""
    program = build("ends_threads.c", "-O1", "-pthread")
    rounds = 3000 if others != "reads" else 30
    ended, rank, said = end(tmp_path, program, "goes on", 6, others, rounds, "--log-budget", "20KB")
    assert ended == 6
    assert "--log-budget 20KB is spent" in said
    expect_whole(rank, EndKind.BUDGET, 0)


@pytest.mark.skipif(bool(NO_MOUNTS), reason=NO_MOUNTS)
@pytest.mark.parametrize("others", ["calls", "clocks", "reads", "locks"])
def test_the_disk_fills(others: str, build: Build, tmp_path: Path) -> None:
    program = build("ends_threads.c", "-O1", "-pthread")
    rank = Rank(tmp_path / "disk" / "rank-0", tmp_path / "disk" / "files")
    # Some times what fills it; with `locks` each round waits for a turn on a loaded machine.
    rounds = {"reads": "300", "locks": "20000"}.get(others, "100000")
    command = rank.line(program, "goes on", "6", others, rounds)
    kept = tmp_path / "kept"
    done = small_disk(
        "6m",
        tmp_path / "disk",
        f"mkdir {rank.path} {rank.files}; {shlex.join(command)}; echo $?\n"
        f"cp -a {tmp_path}/disk {kept}\n",
    )
    assert done.stdout == "ready\n6\n", done.stderr
    assert "No space left on device: the recording ends at" in done.stderr
    expect_whole(Rank(kept / "rank-0", kept / "files"), EndKind.DISK, errno.ENOSPC)


@pytest.mark.parametrize(
    ("how", "kind", "value"),
    [
        ("busy", EndKind.SIGNAL, signal.SIGTERM),
        ("waiting", EndKind.SIGNAL, signal.SIGTERM),
        ("itself", EndKind.SIGNAL, signal.SIGTERM),
        ("abort", EndKind.EXIT, 7),
        ("exit", EndKind.EXIT, 5),
    ],
)
def test_while_others_are_in_mpi(
    how: str, kind: EndKind, value: int, build: Build, tmp_path: Path
) -> None:
    """mpirun then ends the other rank, by a signal from outside."""
    program = build("mpi/ends_threads.c", "-O1", "-pthread", compiler="mpicc")
    job = record(tmp_path, 2, program, how, "100", hash_every=10**6)
    assert job.result.returncode == (128 + value if kind is EndKind.SIGNAL else value)
    expect_whole(Rank(job.path / "rank-0", job.files), kind, value)
    other = job.rank(1)
    assert other.end is None or other.end.value in (signal.SIGTERM, signal.SIGHUP), other.state
    code, answer, said = Rank(job.path / "rank-1", job.files).verify()
    assert (code, answer.get("ok")) == (0, True), (answer, said)


@pytest.mark.parametrize("record", ["full", "off"])
def test_what_a_thread_leaves(record: str, build: Build, rdb: Rdb) -> None:
    """Its own signals are gone, bad addresses for the kernel are no fault: as without rdb."""
    program = build("thread_leaves.c", "-O1", "-pthread")
    native = deadlines.native([program])
    done = rdb("run", "--name", "job", "--record", record, "--", program)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    if record == "full":
        replay_agrees(rdb, "job")
