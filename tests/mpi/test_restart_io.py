"""rdb restart of programs that have files of MPI open: they are as they were at the cut.

`make test` restarts at a few events; RDB_TEST_LIVE=50 (make test-live) at so many.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from cuts import silent_event
from events import events_called, finalized

from rdb.errors import RdbError
from rdb.live.cut.consistent import Cut, Traffic
from rdb.live.files.file_order import copies
from rdb.recording import Job, open_job

MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))
RANKS = 2
BEFORE = {"there": "".join(f"{number}\n" for number in range(900)).encode(), "gone": b"bye\n"}


class Recorded:
    """What it left in its files, and what it said."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.home, self.files = folder, folder / "home", folder / "files"
        self.files.mkdir()
        self.begin()
        line = ["run", "-n", str(RANKS), "--name", "job", "--", str(program), str(self.files)]
        done = self.rdb(*line)
        assert done.returncode == 0, done.stderr
        self.said = sorted(done.stdout.splitlines())
        assert len(self.said) == RANKS
        self.left = self.now()
        assert set(self.left) == {"there", "lines", "extra"}
        self.job: Job = open_job(self.home / "job")
        self.traffic = Traffic(self.job)

    def begin(self) -> None:
        for one in self.files.iterdir():
            one.unlink()
        for name, what in BEFORE.items():
            (self.files / name).write_bytes(what)

    def now(self) -> dict[str, bytes]:
        return {one.name: one.read_bytes() for one in self.files.iterdir()}

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def event(self, rank: int, call: str, which: int = 0) -> int:
        return events_called(self.job.rank(rank), call)[which]

    def restart(self, rank: int, event: int, mpi: str, job: str = "job", name: str = "cut") -> None:
        """The copies become what the job left; its own files are not touched."""
        where = f"{job}, rank {rank} at {event}, {mpi}"
        at = ["--rank", str(rank), "--at", str(event)]
        found = self.now()
        done = self.rdb("restart", job, *at, "--name", name, "--mpi", mpi)
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert sorted(done.stdout.splitlines()) == self.said, where
        made = {one.name.split("-", 1)[1]: one.read_bytes() for one in copies(self.home / name)}
        assert made == self.left, where
        assert self.now() == found, where
        for one in made:
            assert f"{one} went on as " in done.stderr
        if name == "cut":
            self.rdb("rm", name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("files"), build("mpi/restarted_io.c"))


PLACES = {
    "before they are opened": (0, "MPI_Info_set", 0, "openmpi"),
    "between the two halves of a collective": (1, "MPI_File_read_at_all_begin", 1, "openmpi"),
    "while a read is pending": (0, "MPI_File_iread_at(", 1, "mpich"),
    "when they are closed": (1, "MPI_File_close", 1, "openmpi"),
}


@pytest.mark.parametrize("place", PLACES)
def test_files_are_as_they_were(files: Recorded, place: str) -> None:
    rank, call, which, mpi = PLACES[place]
    files.restart(rank, files.event(rank, call, which), mpi)


def test_at_random_events(files: Recorded) -> None:
    chosen = random.Random(16)
    tried = 0
    while tried < (MANY or 1):
        rank = chosen.randrange(RANKS)
        event = chosen.randrange(5, files.event(rank, "write(1,"))
        try:
            cut = files.traffic.cut(rank, event)
        except RdbError:
            continue
        if not any(finalized(files.job, *one) for one in cut.events.items()):
            files.restart(rank, event, "openmpi" if tried % 2 else "mpich")
            tried += 1


def test_branches_of_branches(files: Recorded) -> None:
    """Files are open again as when the branch began: here between the halves of a read."""
    chosen = random.Random(23)
    for turn in range(MANY or 1):
        name = f"first{turn}"
        begun = files.event(1, "MPI_File_read_at_all_begin", 1)
        until = files.job.rank(1).last_event // 2
        event = silent_event(files.job, 1, chosen, until=until) if turn else begun
        files.restart(1, event, "mpich", name=name)
        second = open_job(files.home / name)
        half = second.rank(0).last_event // 2  # the rest is for a branch of that branch
        event = silent_event(second, 0, chosen, until=half)
        files.restart(0, event, "openmpi", name, name + "b")
        if MANY:
            third = open_job(files.home / (name + "b"))
            files.restart(1, silent_event(third, 1, chosen), "mpich", name + "b")


def test_no_collective_of_a_file_is_cut(files: Recorded) -> None:
    """By counting calls, in another way than cuts are made, at every event."""
    names = ("MPI_File_set_view", "MPI_File_write_ordered", "MPI_File_close", "MPI_File_sync")
    events = {
        rank: {
            event: name
            for event in range(1, recording.last_event + 1)
            for name in names
            if recording.describe(event).startswith(name)
        }
        for rank, recording in enumerate(files.job.rank(rank) for rank in range(RANKS))
    }
    cuts = 0
    for event in range(1, files.job.rank(0).last_event + 1):
        try:
            cut: Cut = files.traffic.cut(0, event)
        except RdbError:
            continue
        cuts += 1
        done = [
            sorted(name for at, name in events[rank].items() if at <= until)
            for rank, until in cut.events.items()
        ]
        assert done[0] == done[1], cut.events
    assert cuts > 50


def test_in_place_they_are_rolled_back(files: Recorded) -> None:
    """Those that were closed, and one that is open."""
    left = files.now()
    at = str(files.event(0, "MPI_File_write_shared"))
    done = files.rdb("restart", "job", "--at", at, "--name", "cut", "--in-place")
    now = files.now()
    for name, what in left.items():
        (files.files / name).write_bytes(what)
    assert done.returncode == 0, done.stderr
    assert now == files.left
    assert not copies(files.home / "cut")
    files.rdb("rm", "cut")


def test_what_is_to_be_is_shown(files: Recorded) -> None:
    at = files.event(0, "MPI_File_write_shared")
    done = files.rdb("restart", "job", "--plan", "--at", str(at))
    assert done.returncode == 0, done.stderr
    assert f"file {files.files}/lines: as it was at the cut, and open\n" in done.stdout
    assert f"file {files.files}/extra: as it was at the cut\n" in done.stdout


def test_what_is_read_on_the_way_is_compared(files: Recorded) -> None:
    kept = files.home / "job" / "rank-0" / "mpi-file-0"
    before = kept.read_bytes()
    assert before == BEFORE["there"]
    kept.write_bytes(before[::-1])
    try:
        at = files.event(0, "MPI_File_read_at_all(")
        done = files.rdb("restart", "job", "--at", str(at))
    finally:
        kept.write_bytes(before)
    assert done.returncode
    assert "there: what is read from it differs from the recording" in done.stderr


@pytest.mark.parametrize("call", ["MPI_File_open", "MPI_File_sync"])
def test_a_file_of_mpi_that_system_calls_use_has_one_copy(
    tmp_path: Path, build: Build, call: str
) -> None:
    """What is open at the cut is read, extended and removed by system calls later."""
    home, file = tmp_path / "home", tmp_path / "both"
    program = [str(build("mpi/file_both_ways.c")), str(file)]
    done = run_rdb(home, tmp_path, "run", "-n", str(RANKS), "--name", "job", "--", *program)
    assert done.returncode == 0, done.stderr
    said = sorted(done.stdout.splitlines())
    assert said == ["0: 20 21 30", "1: 20 21 30"]
    event = events_called(open_job(home / "job").rank(0), call)[0]
    done = run_rdb(home, tmp_path, "restart", "job", "--at", str(event), "--name", "cut")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == said
    assert [one.name for one in copies(home / "cut")] == ["0-both"]


@pytest.mark.parametrize("program", ["file_both_ways", "file_by_turns"])
def test_system_calls_and_mpi_see_one_file(tmp_path: Path, build: Build, program: str) -> None:
    """Wherever the cut is, what a branch says is what the job has said after it.

    Refused where MPI has a file open that system calls have changed.
    """
    home = tmp_path / "home"
    line = [str(build(f"mpi/{program}.c")), str(tmp_path / "file")]
    done = run_rdb(home, tmp_path, "run", "-n", str(RANKS), "--name", "job", "--", *line)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    last, ways = events_called(open_job(home / "job").rank(0), "MPI_Finalize")[0], set()
    for number, event in enumerate(range(1, last, 1 if MANY else 4)):
        again = run_rdb(home, tmp_path, "restart", "job", "--at", str(event), "--name", f"{number}")
        ways.add(again.returncode)
        if again.returncode:
            assert "MPI has it open at the cut, and system calls change it" in again.stderr
        lines = again.stdout.splitlines()
        assert set(lines) <= set(said), (event, lines)
        for rank in "01":
            own = [one for one in said if one.startswith(rank)]
            mine = [one for one in lines if one.startswith(rank)]
            assert mine == own[len(own) - len(mine) :], (event, lines)
    assert 0 in ways


def test_a_branch_of_a_branch_says_what_its_copy_lacks(tmp_path: Path, build: Build) -> None:
    """The branch's system calls have changed its copy of a file of MPI."""
    home = tmp_path / "home"
    line = [str(build("mpi/file_both_ways.c")), str(tmp_path / "both")]
    done = run_rdb(home, tmp_path, "run", "-n", str(RANKS), "--name", "job", "--", *line)
    assert done.returncode == 0, done.stderr
    for job, call in (("job", "MPI_File_sync"), ("job-branch-1", "MPI_Barrier")):
        event = events_called(open_job(home / job).rank(0), call)[0]
        done = run_rdb(home, tmp_path, "restart", job, "--at", str(event))
        assert done.returncode == 0, done.stderr
        assert ("copy lacks this data" in done.stderr) == (job != "job"), done.stderr


def test_a_file_that_is_opened_after_a_segment_of_the_log_stays_open(
    tmp_path: Path, build: Build
) -> None:
    """The end of a segment frees no number of the program's for the MPI library to take."""
    home = tmp_path / "home"
    program = [str(build("mpi/file_after_much.c")), str(tmp_path / "numbers")]
    done = run_rdb(home, tmp_path, "run", "-n", str(RANKS), "--name", "job", "--", *program)
    assert done.returncode == 0, done.stderr
    assert (home / "job" / "rank-0" / "log-000001.seg").exists()
    (sync,) = events_called(open_job(home / "job").rank(0), "MPI_File_sync")
    done = run_rdb(home, tmp_path, "restart", "job", "--at", str(sync), "--name", "cut")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0: 10 11", "1: 10 11"]
