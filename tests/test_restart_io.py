"""rdb restart of programs that write files by MPI: at cuts where none is open.

`make test` restarts at a few events; RDB_TEST_LIVE=50 (make test-live) at so many.
"""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.errors import RdbError
from rdb.live.consistent import Traffic, finalized
from rdb.recording import Job, open_job

MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))
RANKS = 2


class Recorded:
    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.home, self.file = folder, folder / "home", folder / "state"
        line = ["run", "-n", str(RANKS), "--name", "job", "--", str(program), str(self.file)]
        done = self.rdb(*line)
        assert done.returncode == 0, done.stderr
        self.said = done.stdout
        self.left = self.file.read_bytes()
        self.job: Job = open_job(self.home / "job")
        self.traffic = Traffic(self.job)

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def events(self, rank: int, call: str) -> list[int]:
        recording = self.job.rank(rank)
        return [
            event
            for event in range(1, recording.last_event + 1)
            if recording.describe(event).startswith(call)
        ]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("files"), build("mpi/restarted_files.c"))


def test_no_cut_is_where_a_file_is_open(files: Recorded) -> None:
    """Seen in another way than cuts are made: by counting calls, at every event."""
    opened = {rank: files.events(rank, "MPI_File_open") for rank in range(RANKS)}
    closed = {rank: files.events(rank, "MPI_File_close") for rank in range(RANKS)}
    refused = 0
    for rank in range(RANKS):
        for event in range(1, files.job.rank(rank).last_event + 1):
            try:
                cut = files.traffic.cut(rank, event)
            except RdbError as error:
                refused += "file of MPI open" in str(error)
                continue
            done = {
                (
                    sum(at <= until for at in opened[one]),
                    sum(at <= until for at in closed[one]),
                )
                for one, until in cut.events.items()
            }
            assert len(done) == 1, cut.events
            opens, closes = done.pop()
            assert opens == closes, cut.events
    inside = sum(sum(closed[rank]) - sum(opened[rank]) for rank in range(RANKS))
    assert inside == refused > 20


def test_it_writes_its_files_again(files: Recorded) -> None:
    chosen = random.Random(16)
    tried = 0
    while tried < (MANY or 1):
        rank = chosen.randrange(RANKS)
        event = chosen.randrange(20, files.job.rank(rank).last_event)
        try:
            cut = files.traffic.cut(rank, event)
        except RdbError:
            continue
        last_open = max(files.events(rank, "MPI_File_open"))
        if event > last_open or any(finalized(files.job, *one) for one in cut.events.items()):
            continue
        files.file.write_bytes(b"altered since")
        where = ["--rank", str(rank), "--at", str(event)]
        mpi = "openmpi" if tried % 2 else "mpich"
        done = files.rdb("restart", "job", *where, "--name", "cut", "--mpi", mpi)
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert done.stdout == files.said, f"{where}"
        assert files.file.read_bytes() == files.left, f"{where}"
        files.rdb("rm", "cut")
        tried += 1


def test_an_open_file_is_said(files: Recorded) -> None:
    first = files.events(0, "MPI_File_write_all")[0]
    done = files.rdb("restart", "job", "--plan", "--at", str(first))
    assert done.returncode == 1
    assert done.stderr.startswith(f"rdb: rank 0 has a file of MPI open at event {first}; try --at")
    assert len(done.stderr.splitlines()) == 1
