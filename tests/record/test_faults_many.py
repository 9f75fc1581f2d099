"""Killed at random moments: programs of several threads, and jobs of several ranks.

`make test-faults` does the same more often.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import deadlines
import pytest
from conftest import Build, run_rdb
from faults import DEADLINE_S, EVERYTHING, NO_MOUNTS, Rank, small_disk
from mpijob import MPIRUN
from test_faults import RDB, check_usable

from rdb.checked import to_json
from rdb.paths import mpi_dir
from rdb.recording import FORMAT, RankRecording
from rdb.timeline.timeline import Timeline

KILLS = 100 if EVERYTHING else 8
ENDLESS = "100000000"
MPI = ("--mpi-lower", str(mpi_dir() / "lower.so"), "--mpi-stub", str(mpi_dir() / "libmpi.so.40"))


def expect_to_open(recording: RankRecording) -> None:
    """At its end, or at the last event if that was in the middle of a computation."""
    with Timeline(recording) as timeline:
        assert timeline.goto_end().reason == "end"
        assert timeline.event == recording.last_event


def options(chance: random.Random) -> tuple[str, ...]:
    hashes = ("--hash-every", str(chance.choice((0, 50, 1000))))
    return hashes + chance.choice(((), ("--checkpoint-every", "100")))


@pytest.mark.parametrize("seed", range(KILLS))
def test_threads_are_killed_at_a_random_moment(build: Build, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    rank = Rank.make(tmp_path)
    program = build("fault_threads.c", "-O1", "-pthread")
    process = subprocess.Popen(
        rank.line(program, ENDLESS, options=options(chance)), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    upto = chance.choice((0, chance.randrange(20), chance.randrange(400)))
    reported = sum(1 for _ in zip(range(upto), process.stdout, strict=False))
    for _ in range(chance.randrange(20_000)):
        pass  # at no particular place in the round
    process.kill()
    reported += process.stdout.read().count("\n")
    assert deadlines.wait(process, DEADLINE_S) == -signal.SIGKILL
    if (rank.path / "ckpt-000000.img").exists():
        recording = check_usable(rank, reported - 1)
        assert recording.state == "killed"
        if recording.last_event >= 0:
            expect_to_open(recording)
    else:  # before its first event
        assert reported == 0


class RunningJob:
    """Two ranks, each telling its rounds in a file."""

    def __init__(self, folder: Path, program: Path, chance: random.Random) -> None:
        self.path = folder / "job"
        (self.path / "files").mkdir(parents=True)
        self.ranks = [Rank(self.path / f"rank-{rank}", self.path / "files") for rank in range(2)]
        self._told = [folder / f"out-{rank}" for rank in range(2)]
        given = options(chance) + MPI
        cases = []  # not several commands: Open MPI 5.0.7 crashes
        for number, rank in enumerate(self.ranks):
            rank.path.mkdir()
            line = rank.line(program, ENDLESS, options=("--rank", str(number), *given))
            command = shlex.join(map(str, line))
            cases.append(f"{number}) exec {command} > {shlex.quote(str(self._told[number]))};;")
        script = f"case $OMPI_COMM_WORLD_RANK in {' '.join(cases)} esac"
        self.process = subprocess.Popen(
            [*MPIRUN, "-n", "2", "sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def told(self, rank: int) -> int:
        path = self._told[rank]
        return path.read_text().count("\n") if path.exists() else 0

    def wait_for(self, rounds: int) -> None:
        deadline = deadlines.Deadline(DEADLINE_S)
        while min(self.told(rank) for rank in range(2)) < rounds:
            assert self.process.poll() is None and not deadline.over()
            time.sleep(0.01)

    def kill(self, ranks: list[int]) -> None:
        """All of them at about the same time."""
        for rank in ranks:
            os.kill(int(self.ranks[rank].recording().meta["pid"]), signal.SIGKILL)

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        deadlines.wait(self.process, DEADLINE_S)


@contextmanager
def running_job(build: Build, folder: Path, chance: random.Random) -> Iterator[RunningJob]:
    job = RunningJob(folder, build("mpi/fault_ring.c", "-O1", compiler="mpicc"), chance)
    try:
        yield job
    finally:
        job.end()


@pytest.mark.parametrize("seed", range(KILLS))
def test_ranks_are_killed_at_a_random_moment(build: Build, tmp_path: Path, seed: int) -> None:
    """One of them, whose end mpirun answers by ending the other, or both at once."""
    chance = random.Random(seed)
    with running_job(build, tmp_path, chance) as job:
        job.wait_for(chance.choice((1, chance.randrange(1, 20), chance.randrange(1, 300))))
        victims = chance.choice(([0], [1], [0, 1]))
        job.kill(victims)
        assert deadlines.wait(job.process, DEADLINE_S) != 0
        for number, rank in enumerate(job.ranks):
            recording = check_usable(rank, job.told(number) - 1)
            assert recording.state == "killed" or number not in victims
            expect_to_open(recording)


def test_a_running_job_is_packed_when_it_has_ended(build: Build, tmp_path: Path) -> None:
    """Not before: it is told, and the job goes on."""
    home = tmp_path / "home"
    with running_job(build, home, random.Random(3)) as job:
        (job.path / "job.json").write_text(to_json({"format": FORMAT, "nranks": 2}))
        for path in (home, *home.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
        job.wait_for(20)
        pack = ("pack", str(job.path), "-o", str(tmp_path / "job.rdb"))
        done = run_rdb(home, home, *pack)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("rdb: rank 0 of job still runs")
        assert not list(tmp_path.glob("job.rdb*"))
        job.wait_for(job.told(0) + 20)
        job.kill([0, 1])
        assert deadlines.wait(job.process, DEADLINE_S) != 0
        done = run_rdb(home, home, *pack)
        assert done.returncode == 0, done.stderr
        replayed = run_rdb(home, home, "replay", str(tmp_path / "job.rdb"))
        assert replayed.returncode == 0, replayed.stderr


@pytest.mark.skipif(bool(NO_MOUNTS), reason=NO_MOUNTS)
@pytest.mark.parametrize("what", ["threads", "ranks"])
def test_the_disk_fills(build: Build, tmp_path: Path, what: str) -> None:
    """The program goes on; what was recorded until then replays."""
    disk = tmp_path / "disk"
    threads = build("fault_threads.c", "-O1", "-pthread")
    ring = build("mpi/fault_ring.c", "-O1", compiler="mpicc")
    command = f"-- {threads} 20000" if what == "threads" else f"-n 2 -- {ring} 6000"
    done = small_disk(
        "6m" if what == "threads" else "12m",
        disk,
        f"export RDB_HOME={disk}/home\n"
        f"{RDB} run --name job {command} > {tmp_path}/out; echo $?\n"
        f"{RDB} info job; {RDB} replay job; echo $?",
    )
    assert done.stdout.startswith("3\n"), done.stderr
    assert len((tmp_path / "out").read_text().splitlines()) == (
        20000 if what == "threads" else 12000
    )
    assert "disk full: the rest was not recorded" in done.stdout
    assert done.stdout.endswith("\n0\n"), done.stdout + done.stderr
