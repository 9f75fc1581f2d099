"""rdb restart of programs with threads: each goes on from where it was.

`make test` restarts at a few events; RDB_TEST_LIVE=50 (make test-live) at so many.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.recording import Job, open_job
from rdb.recording.log.record import Kind

MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))
EXIT, TGKILL, FUTEX = 60, 234, 202


class Recorded:
    """A program with threads, whose last line does not depend on who ran when."""

    def __init__(self, folder: Path, program: Path, *options: str) -> None:
        self.folder, self.home = folder, folder / "home"
        done = self.rdb("run", "--name", "job", *options, "--", str(program))
        assert done.returncode == 0, done.stderr
        self.last_line = done.stdout.splitlines()[-1]
        self.job: Job = open_job(self.home / "job")

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def restart(self, job: str, at: int, name: str) -> Job:
        done = self.rdb("restart", job, "--at", str(at), "--name", name)
        where = f"{job} at {at}: {open_job(self.home / job).rank(0).describe(at)}"
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert done.stdout.splitlines()[-1] == self.last_line, where
        verified = self.rdb("replay", name, "--verify")
        assert verified.returncode == 0, f"{where}: {verified.stderr}"
        return open_job(self.home / name)

    def events(self, job: Job, kind: Kind, number: int | None = None) -> list[int]:
        return [
            record.event
            for record in job.rank(0).records()
            if record.kind is kind and number in (None, record.nr)
        ]

    def random_events(self, seed: int) -> Iterator[int]:
        chosen, last = random.Random(seed), self.written()
        while True:
            yield chosen.randrange(last)

    def written(self) -> int:
        """The event that wrote the last line: after it nothing is printed."""
        return self.events(self.job, Kind.SYSCALL, 1)[-1]


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("threads"), build("live_threads.c", "-pthread"))


@pytest.fixture(scope="module")
def openmp(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("openmp"), build("live_openmp.c", "-fopenmp"))


@pytest.fixture(scope="module")
def computing(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    """Its threads are stopped in the middle of computations."""
    program = build("live_openmp.c", "-fopenmp", "-DLONG")
    return Recorded(tmp_path_factory.mktemp("computing"), program, "--slice", "2")


def cut_all(recorded: Recorded, cuts: list[int]) -> None:
    for cut in cuts:
        recorded.restart("job", cut, "cut")
        recorded.rdb("rm", "cut")


def test_contended_mutexes_with_priorities_are_replayed(threads: Recorded) -> None:
    contended = [
        record
        for record in threads.job.rank(0).records()
        if record.kind is Kind.SYSCALL and record.nr == FUTEX and record.args[1] & 0x7F in (6, 7)
    ]
    assert contended
    assert threads.rdb("replay", "job", "--verify").returncode == 0


def test_a_thread_has_just_ended(threads: Recorded) -> None:
    ends = threads.events(threads.job, Kind.SYSCALL, EXIT)
    cut_all(threads, ends if MANY else ends[:1])


def test_a_signal_is_on_its_way_and_a_branch_of_a_branch(threads: Recorded) -> None:
    """It knows its threads by numbers of two processes ago."""
    sent = threads.events(threads.job, Kind.SYSCALL, TGKILL)
    for cut in sent if MANY else sent[:1]:
        first = threads.restart("job", cut, "first")
        threads.restart("first", first.rank(0).last_event // 3, "second")
        threads.rdb("rm", "first", "second")


def test_openmp_goes_on(openmp: Recorded) -> None:
    cuts = openmp.random_events(12)
    cut_all(openmp, [next(cuts) for _ in range(MANY or 1)])


def test_it_was_stopped_in_a_computation(computing: Recorded) -> None:
    stops = computing.events(computing.job, Kind.PREEMPT)
    assert stops
    cut_all(computing, random.Random(13).sample(stops, min(MANY or 1, len(stops))))


def test_mpi_with_threads_goes_on(tmp_path: Path, build: Build) -> None:
    """A receive that a thread waits in is made again, over the other MPI too."""
    home, chosen = tmp_path / "home", random.Random(15)
    program = build("mpi/restarted_threads.c", "-pthread")
    done = run_rdb(home, tmp_path, "run", "-n", "2", "--name", "job", "--", str(program))
    assert done.returncode == 0, done.stderr
    job, said = open_job(home / "job"), done.stdout
    tried = 0
    while tried < (MANY or 1):
        rank = chosen.randrange(2)
        at = chosen.randrange(20, job.rank(rank).last_event - 12)
        where = ["--rank", str(rank), "--at", str(at)]
        planned = run_rdb(home, tmp_path, "restart", "job", "--plan", *where)
        if "try --at" in planned.stderr:
            continue  # inside a collective
        mpi = "openmpi" if tried % 2 else "mpich"
        restarted = run_rdb(home, tmp_path, "restart", "job", *where, "--name", "cut", "--mpi", mpi)
        assert restarted.returncode == 0, f"{where}: {restarted.stderr}"
        assert restarted.stdout == said, f"{where}"
        verified = run_rdb(home, tmp_path, "replay", "cut", "--verify")
        assert verified.returncode == 0, f"{where}: {verified.stderr}"
        run_rdb(home, tmp_path, "rm", "cut")
        tried += 1


if MANY:

    def test_it_goes_on_from_any_event(threads: Recorded) -> None:
        cuts = threads.random_events(14)
        cut_all(threads, [next(cuts) for _ in range(MANY)])
