"""Parts of a job that are not there any more: each command says which, none answers for them."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.errors import DamagedRecording
from rdb.recording import open_job


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    """$RDB_HOME with a job of three ranks."""
    home = tmp_path_factory.mktemp("home")
    program = build("mpi/ring.c", compiler="mpicc")
    done = run_rdb(home, home, "run", "--name", "ring", "-n", "3", "--", str(program))
    assert done.returncode == 0, done.stderr
    return home


def without(home: Path, folder: Path, what: str) -> Path:
    """A copy of the job that lacks what matches."""
    job = folder / "home/ring"
    shutil.copytree(home / "ring", job)
    folder.chmod(0o700)
    (folder / "home").chmod(0o700)
    for path in job.glob(what):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return folder / "home"


def test_a_rank_that_is_missing_is_named(told: Path, tmp_path: Path) -> None:
    home = without(told, tmp_path, "rank-1")
    for command in (["info"], ["replay"], ["messages"], ["attach", "-x", "/dev/null"]):
        done = run_rdb(home, home, command[0], "ring", *command[1:])
        assert f"no recording of rank 1 is in {home / 'ring'}\n" in done.stderr, command
    found = run_rdb(home, home, "find-event", "ring", "mpi")
    assert "no recording of rank 1" in found.stderr and "RANK" in found.stdout
    alone = run_rdb(home, home, "replay", "ring", "--rank", "2")
    assert alone.returncode == 0 and not alone.stderr
    refused = run_rdb(home, home, "restart", "ring", "--at", "10")
    assert refused.returncode == 5
    assert refused.stderr.startswith("rdb: ring: no recording of rank 1 is here")


def test_a_stored_file_that_is_missing_is_named(told: Path, tmp_path: Path) -> None:
    home = without(told, tmp_path, "files/libc.so*")
    for command in (["replay"], ["attach", "-x", "/dev/null"]):
        done = run_rdb(home, home, command[0], "ring", *command[1:])
        text = done.stdout + done.stderr
        assert "from libc.so.6" in text and "No such file or directory" in text
        assert ": cannot be replayed: No such" not in text  # what follows of it is no cause
    assert done.stderr.count("\n") == 1 and "cannot open 0-2; rank 0: the" in done.stderr
    assert done.returncode == 5


def test_the_stored_files_are_missing(told: Path, tmp_path: Path) -> None:
    home = without(told, tmp_path, "files")
    refused = run_rdb(home, home, "restart", "ring", "--at", "10")
    assert refused.returncode == 5
    assert refused.stderr == f"rdb: {home / 'ring/files'}: No such file or directory\n"
    assert [path.name for path in home.iterdir()] == ["ring"]


def test_what_cannot_be_replayed_is_not_packed(told: Path, tmp_path: Path) -> None:
    home = without(told, tmp_path, "rank-1/ckpt-*.img")
    done = run_rdb(home, home, "pack", "ring")
    assert done.returncode == 5 and "rank-1: no image is left to replay rank 1" in done.stderr
    assert not list(home.glob("*.rdb"))
    assert run_rdb(home, home, "pack", "ring", "--ranks", "0,2").returncode == 0


def test_an_image_that_cannot_be_read_damages_its_rank(told: Path, tmp_path: Path) -> None:
    home = without(told, tmp_path, "rank-1/ckpt-000000.img")
    image = home / "ring/rank-1/ckpt-000000.img"
    image.mkdir()
    listed = run_rdb(home, home, "ls")
    assert listed.returncode == 0 and "exited 0 (2), damaged (1)" in listed.stdout, listed.stderr
    done = run_rdb(home, home, "replay", "ring", "--rank", "1")
    assert done.returncode == 5 and len(done.stderr.splitlines()) == 1, done.stderr
    assert f"{image}: " in done.stderr


def test_a_rank_that_may_not_be_read_is_damaged(
    told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of another user's, who may see the job; of root nothing is hidden, so it is made up."""
    exists = Path.exists

    def denied(path: Path) -> bool:
        if "rank-1" in path.parts:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return exists(path)

    monkeypatch.setattr(Path, "exists", denied)
    job = open_job(told / "ring")
    with pytest.raises(DamagedRecording, match=r"ring/rank-1/exec/.*: Permission denied"):
        job.rank(1)
    assert job.rank(2).last_event > 0
