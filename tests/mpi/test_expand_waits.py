"""An expansion whose ranks wait for what never comes is ended; messages that nobody asked for."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.live.expand.waits import WAITS, Stuck, Watch, _certain
from rdb.recording import Job, open_job
from rdb.recording.mpi.collectives import Flow
from rdb.recording.mpi.communication import WORLD

ROUNDS = 3


class Jobs:
    """`three` of ROUNDS rounds, and `mixed`: rank 1 is of a run that had one less."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.program = str(program)
        for name, argument in (("three", str(ROUNDS)), ("two", str(ROUNDS - 1))):
            self.record(name, argument)
        shutil.copytree(self.home / "three", self.home / "mixed")
        shutil.rmtree(self.home / "mixed" / "rank-1")
        shutil.copytree(self.home / "two" / "rank-1", self.home / "mixed" / "rank-1")

    def rdb(self, *arguments: str):  # type: ignore[no-untyped-def]
        return run_rdb(self.home, self.folder, *arguments)

    def record(self, name: str, argument: str) -> str:
        line = ["run", "-n", "2", "--name", name, "--record=order", "--hash-every", "1", "--"]
        done = self.rdb(*line, self.program, argument)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def job(self, name: str) -> Job:
        return open_job(self.home / name)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Jobs:
    return Jobs(tmp_path_factory.mktemp("waits"), build("mpi/unasked.c", "-O1"))


def test_a_message_that_never_comes(jobs: Jobs) -> None:
    done = jobs.rdb("expand", "mixed")
    assert done.returncode == 5, done.stderr
    (line,) = done.stderr.splitlines()
    assert "rank 0 waits at event " in line
    assert f"(MPI_Recv) for a message with tag {ROUNDS - 1} from rank 1" in line
    assert "the log of rank 1 has ended" in line
    left = {path.name for path in (jobs.home / "mixed").glob("rank-*/*")}
    assert not {name for name in left if name.startswith(("payload", WAITS))}, left
    folder = os.fsencode(jobs.home / "mixed")
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = one.read_bytes()
        except OSError:
            continue
        assert not (folder in words and b"--expand" in words), words


def test_collectives_that_differ(jobs: Jobs) -> None:
    """Both ranks are in the second one, for which their logs have different functions."""
    jobs.record("summed", "summed")
    jobs.record("copied", "copied")
    shutil.rmtree(jobs.home / "summed" / "rank-1")
    shutil.copytree(jobs.home / "copied" / "rank-1", jobs.home / "summed" / "rank-1")
    done = jobs.rdb("expand", "summed")
    assert done.returncode == 5, done.stderr
    (line,) = done.stderr.splitlines()
    assert re.search(r"in collective 2 on MPI_COMM_WORLD rank \d is in MPI_", line), line
    assert "rank 0 is in MPI_Allreduce at event " in line
    assert "rank 1 is in MPI_Bcast (root 0) at event " in line


def test_messages_that_nobody_asked_for(jobs: Jobs) -> None:
    """Receives of anything that were never waited for had taken them."""
    said = jobs.record("pending", "pending").splitlines()
    assert said == ["by a call that blocks 3000", "by a request 4000"]
    expanded = jobs.rdb("expand", "pending")
    assert expanded.returncode == 0, expanded.stderr
    done = jobs.rdb("replay", "pending")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("hashes agree") == 2


class Said:
    """What the two ranks of `mixed` say of themselves."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self.folders = {rank: folder / f"rank-{rank}" for rank in job.ranks}
        for one in self.folders.values():
            one.mkdir()
        self.watch = Watch(job, self.folders)

    def say(self, rank: int, turn: int, event: int, what: str, peer: int, looks: int) -> None:
        text = f"1 host {turn} {event} {what} {peer} 7 {looks}\n"
        (self.folders[rank] / WAITS).write_text(text)

    def event_of_barrier(self, rank: int, number: int) -> int:
        from rdb.recording.messages.messages import Messages

        known = Messages(self.job).communication(rank)
        return known.event(known.collectives[WORLD.name][number])


@pytest.fixture
def said(jobs: Jobs, tmp_path: Path) -> Said:
    return Said(jobs.job("mixed"), tmp_path)


def test_who_has_looked_often_enough_is_stuck(said: Said) -> None:
    said.say(0, 5, 3, "message", 1, 1_000_000)
    said.say(1, 9, 6, "message", 0, 100)
    assert said.watch.stuck() == []  # both have just come there, for all that is known
    said.say(0, 5, 3, "message", 1, 2_000_000)
    said.say(1, 9, 6, "message", 0, 200)
    assert said.watch.stuck() == []  # rank 1 has hardly run since
    said.say(1, 9, 6, "message", 0, 20_000)
    found = said.watch.stuck()
    assert [(one.rank, one.event, one.ranks) for one in found] == [(0, 3, (1,)), (1, 6, (0,))]


def test_who_goes_on_starts_anew(said: Said) -> None:
    said.say(1, 9, 6, "ended", -1, 0)
    said.say(0, 5, 3, "message", 1, 0)
    assert said.watch.stuck() == []
    said.say(0, 7, 4, "message", 1, 1_000_000)
    assert said.watch.stuck() == []
    said.say(0, 7, 4, "message", 1, 1_005_000)
    assert said.watch.stuck() == []
    said.say(0, 7, 4, "message", 1, 1_010_000)
    assert [one.rank for one in said.watch.stuck()] == [0]


@pytest.mark.parametrize("what", ["computes", None])
def test_nobody_is_stuck_while_others_compute(said: Said, what: str | None) -> None:
    said.say(0, 5, 3, "message", 1, 0)
    if what is not None:
        said.say(1, 4, 2, what, -1, 0)
    assert said.watch.stuck() == []
    said.say(0, 5, 3, "message", 1, 10_000_000)
    assert said.watch.stuck() == []


def test_a_collective_that_one_never_comes_to(said: Said) -> None:
    last = said.event_of_barrier(0, ROUNDS - 1)
    said.say(0, 5, last, "together", -1, 0)
    said.say(1, 9, 20, "asks", -1, 0)
    assert (said.watch.stuck(), said.watch.stuck()) == ([], [])  # it may be that call
    said.say(1, 10, 20, "ended", -1, 0)
    assert said.watch.stuck() == []
    text = "the collective to be called by"
    assert said.watch.stuck() == [Stuck(0, last, "MPI_Barrier", text, (1,))]


def test_a_collective_that_both_are_in(said: Said) -> None:
    for rank in (0, 1):
        said.say(rank, 5, said.event_of_barrier(rank, 0), "together", -1, 0)
    assert (said.watch.stuck(), said.watch.stuck()) == ([], [])
    said.say(1, 5, said.event_of_barrier(1, 1), "together", -1, 0)
    assert (said.watch.stuck(), said.watch.stuck()) == ([], [])  # rank 1 has been there


def test_a_message_that_nobody_receives(said: Said) -> None:
    said.say(1, 9, 6, "ended", -1, 0)
    said.say(0, 5, 3, "receiver", 1, 0)
    assert said.watch.stuck() == []
    said.say(0, 5, 3, "receiver", 1, 10_000)
    (found,) = said.watch.stuck()
    assert (found.what, found.ranks) == ("its message with tag 7 to be received by", (1,))


@pytest.mark.parametrize("peer", [-1, 0])
def test_who_waits_for_nobody_else_is_not_stuck(said: Said, peer: int) -> None:
    said.say(1, 9, 6, "ended", -1, 0)
    said.say(0, 5, 3, "message", peer, 0)
    assert said.watch.stuck() == []
    said.say(0, 5, 3, "message", peer, 10_000_000)
    assert said.watch.stuck() == []


@pytest.mark.parametrize(
    ("flow", "root", "rank", "absent", "certain"),
    [
        (Flow.ALL, -1, 4, [5, 7], [5, 7]),
        (Flow.FROM_ROOT, 1, 4, [5, 7], [5]),  # the root's number is that in the communicator
        (Flow.FROM_ROOT, 1, 4, [7], []),  # who has the root's bytes may go on
        (Flow.FROM_ROOT, 0, 4, [5, 7], None),  # the root need not wait
        (Flow.FROM_ROOT, 2, 4, [7], [7]),
        (Flow.TO_ROOT, 0, 4, [5, 7], [5, 7]),
        (Flow.TO_ROOT, 1, 4, [5, 7], None),
        (Flow.TO_ROOT, 2, 7, [5], [5]),
        (Flow.LATER, -1, 4, [5, 7], None),
    ],
)
def test_without_whom_a_collective_cannot_end(
    flow: Flow, root: int, rank: int, absent: list[int], certain: list[int] | None
) -> None:
    """In a communicator of ranks 4, 5 and 7 of the job."""
    assert _certain(flow, root, rank, [4, 5, 7], absent) == certain


@pytest.mark.parametrize(("looks", "stuck"), [(59_999, False), (60_000, True)])
def test_a_collective_that_may_be_complete_counts_after_a_minute(
    said: Said, monkeypatch: pytest.MonkeyPatch, looks: int, stuck: bool
) -> None:
    from rdb.live.expand import waits as expand_waits

    last = said.event_of_barrier(0, ROUNDS - 1)
    monkeypatch.setattr(expand_waits, "collectives", lambda: {})
    said.say(1, 10, 20, "ended", -1, 0)
    said.say(0, 5, last, "together", -1, looks)
    assert said.watch.stuck() == []
    assert bool(said.watch.stuck()) == stuck
