"""rdb restart where the program has what files and windows gave it: views, infos, groups."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from cuts import silent_event
from events import events_called

from rdb.live.files.file_order import copies
from rdb.recording import Job, open_job

RANKS = 2
HYDRA = shutil.which("mpirun.mpich")


class Recorded:
    """A job with files of MPI in a folder of its own, and what it said and left there."""

    def __init__(self, folder: Path, program: Path, before: dict[str, bytes]) -> None:
        self.folder, self.home, self.files = folder, folder / "home", folder / "files"
        self.files.mkdir()
        for name, what in before.items():
            (self.files / name).write_bytes(what)
        line = ["run", "-n", str(RANKS), "--name", "job", "--", str(program), str(self.files)]
        done = run_rdb(self.home, folder, *line)
        assert done.returncode == 0, done.stderr
        self.said = Counter(done.stdout.splitlines())
        self.left = {
            one.name: one.read_bytes() for one in self.files.iterdir() if one.name not in before
        }
        verified = run_rdb(self.home, folder, "replay", "job", "--verify")
        assert verified.returncode == 0, verified.stderr

    def job(self, name: str = "job") -> Job:
        return open_job(self.home / name)

    def restart(self, rank: int, event: int, mpi: str, job: str = "job", name: str = "cut") -> None:
        """The branch says what the job had said, and its copies become what that had left."""
        where = f"{job}, rank {rank} at {event}, {mpi}"
        at = ["--rank", str(rank), "--at", str(event)]
        line = ["restart", job, *at, "--name", name, "--mpi", mpi]
        done = run_rdb(self.home, self.folder, *line)
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert Counter(done.stdout.splitlines()) == self.said, where
        made = {one.name.split("-", 1)[1]: one.read_bytes() for one in copies(self.home / name)}
        assert made == self.left, where
        verified = run_rdb(self.home, self.folder, "replay", name, "--verify")
        assert verified.returncode == 0, f"{where}: {verified.stderr}"

    def remove(self, name: str) -> None:
        run_rdb(self.home, self.folder, "rm", name)

    def event(self, rank: int, call: str, which: int) -> int:
        return events_called(self.job().rank(rank), call)[which]


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    there = {"there": bytes(range(256)) * 4}
    return Recorded(tmp_path_factory.mktemp("given"), build("mpi/restarted_given.c"), there)


@pytest.mark.parametrize(
    ("call", "which", "mpi"),
    [
        ("MPI_File_close", 0, "mpich"),
        ("MPI_Win_free", 1, "openmpi"),
        ("MPI_File_write_all", 1, "mpich"),
    ],
)
def test_it_has_what_it_was_given(given: Recorded, call: str, which: int, mpi: str) -> None:
    """And so has a branch of the branch, which begins when the file and the window are gone."""
    given.restart(1, given.event(1, call, which) + 1, mpi)
    chosen = random.Random(3)
    event = silent_event(given.job("cut"), 0, chosen)
    given.restart(0, event, "openmpi" if mpi == "mpich" else "mpich", "cut", "again")
    given.remove("again")
    given.remove("cut")


def test_files_in_sequence(tmp_path: Path, build: Build) -> None:
    """A restart goes on with one; a branch that began so is refused, not continued elsewhere."""
    one = Recorded(tmp_path, build("mpi/restarted_sequential.c"), {})
    at = one.event(1, "MPI_Barrier", 1)
    for mpi in ("mpich", "openmpi"):
        one.restart(1, at, mpi, name=mpi)
        again = ["restart", mpi, "--at", "1", "--name", "again", "--mpi", mpi]
        refused = run_rdb(one.home, one.folder, *again)
        assert refused.returncode == 125
        assert "lines: it is open with MPI_MODE_SEQUENTIAL" in refused.stderr
        one.remove("again")


@pytest.mark.skipif(not HYDRA, reason="no MPICH here")
@pytest.mark.parametrize("code", [0, 1, 9])
def test_the_code_is_rdbs_and_not_the_launchers(
    code: int, tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MPICH's says one of these of a rank that leaves before MPI_Finalize."""
    launcher = tmp_path / "hydra"
    launcher.write_text(f'#!/bin/sh\n{HYDRA} "$@" && exit 0\nexit {code}\n')
    launcher.chmod(0o755)
    (tmp_path / "mpirun.mpich").symlink_to(launcher)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    one = Recorded(tmp_path, build("mpi/restarted_sequential.c"), {})
    one.restart(1, one.event(1, "MPI_Barrier", 1), "mpich", name="branch")
    line = ["restart", "branch", "--at", "1", "--name", "again", "--mpi", "mpich"]
    refused = run_rdb(one.home, tmp_path, *line)
    assert refused.returncode == 125, refused.stderr
    ends = ["run", "-n", "2", "--mpi", "mpich", "--", str(build("mpi/ends.c")), "unsupported"]
    assert run_rdb(one.home, tmp_path, *ends).returncode == 125
