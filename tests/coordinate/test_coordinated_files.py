"""Checkpoints without a log of ranks that have files of MPI open, and going on from them."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import DEADLINE_S, Running, sums

from rdb.live.files.file_order import copies

RANKS = 2
BEFORE = bytes(range(256)) * 4


class Half:
    """A job that ended after a checkpoint in its middle; what it said and left."""

    def __init__(self, folder: Path, program: Path, left: set[str]) -> None:
        self.folder, self.files, self.gate = folder, folder / "files", folder / "gate"
        self.files.mkdir()
        (self.files / "there").write_bytes(BEFORE)
        line = ("-n", str(RANKS), "--", str(program), str(self.files), str(self.gate))
        self.job = Running(folder / "home", folder, "half", *line)
        self.job.until("half")
        self.checkpoint(self.job)
        self.sums = self.end(self.job)
        self.left = self.now()
        assert len(self.sums) == RANKS and set(self.left) == left

    def checkpoint(self, job: Running) -> None:
        taken = job.rdb("checkpoint", job.name, "--timeout", "90")
        assert taken.returncode == 0, taken.stderr

    def end(self, job: Running) -> list[str]:
        self.gate.touch()
        said, told = deadlines.communicate(job.process, DEADLINE_S)
        assert job.process.returncode == 0, told
        return sums(said)

    def now(self) -> dict[str, bytes]:
        return {one.name: one.read_bytes() for one in self.files.iterdir()}

    def copies(self, name: str) -> dict[str, bytes]:
        made = copies(self.job.home / name)
        return {one.name.split("-", 1)[1]: one.read_bytes() for one in made}


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Half:
    program = build("mpi/coordinated_files.c")
    return Half(tmp_path_factory.mktemp("files"), program, {"there", "lines"})


def test_it_goes_on_with_copies_and_so_does_its_branch(half: Half) -> None:
    half.gate.unlink()
    branch = Running(half.job.home, half.folder, "branch", restart="half")
    branch.until_all_run()
    half.checkpoint(branch)
    assert half.end(branch) == half.sums
    again = half.job.rdb("restart", "branch", "--name", "again", "--mpi", "mpich")
    assert again.returncode == 0, again.stderr
    assert sums(again.stdout) == half.sums
    assert half.copies("branch") == half.copies("again") == half.left
    assert half.now() == half.left
    assert again.stderr.count(" went on as ") == len(half.left)


def test_in_place_the_files_themselves_are_rolled_back(half: Half) -> None:
    half.gate.touch()
    for name in half.left:
        (half.files / name).write_bytes(b"altered since")
    done = half.job.rdb("restart", "half", "--name", "placed", "--in-place")
    now = half.now()
    for name, what in half.left.items():
        (half.files / name).write_bytes(what)
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == half.sums
    assert now == half.left
    assert half.copies("placed") == {}


def test_files_that_were_closed_are_as_they_were(tmp_path: Path, build: Build) -> None:
    """Also one that is deleted and one that is made after the checkpoint."""
    one = Half(tmp_path, build("mpi/closed_files.c"), {"there", "0", "1", "new"})
    copied = one.job.rdb("restart", "half", "--name", "copied", "--mpi", "mpich")
    assert copied.returncode == 0, copied.stderr
    assert sums(copied.stdout) == one.sums and "has changed" not in copied.stderr
    assert one.now() == one.left
    placed = one.job.rdb("restart", "half", "--name", "placed", "--in-place")
    assert placed.returncode == 0, placed.stderr
    assert sums(placed.stdout) == one.sums and "has changed" not in placed.stderr
    assert one.now() == one.left
