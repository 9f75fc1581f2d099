"""Callbacks of a program around its checkpoints, in all languages and for both kinds of jobs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import INCLUDE, PROGRAMS, Build, replay_agrees
from running import DEADLINE_S, Running, sums

OVER = re.compile(r"^over.*$", re.M)


def _over(said: str) -> str:
    found = OVER.search(said)
    assert found, said
    return found[0]


def _taken(job: Running) -> None:
    job.until("there")
    taken = job.rdb("checkpoint", job.name, "--timeout", "90")
    assert taken.returncode == 0, taken.stderr


def _end(job: Running) -> tuple[str, str]:
    (job.folder / "gate").touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    assert job.process.returncode == 0, told
    return said, told


LATE = "rank 0: a callback after the {} has failed; the program goes on"


@pytest.mark.parametrize("threads", [(), ("threads",)], ids=["one", "threads"])
def test_they_run_over_two_restarts(
    threads: tuple[str, ...], tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that is excluded is in no image, and zero after a restart.

    In the one with threads those afterwards fail, and rdb says so.
    """
    program = str(build("hooks.c", "-pthread", f"-I{INCLUDE}"))
    how = "late" if threads else "on"
    job = Running(tmp_path / "home", tmp_path, "job", "--", program, how, "gate", *threads)
    _taken(job)
    image = tmp_path / "home" / "job" / "rank-0" / "ckpt-000001.img"
    assert image.stat().st_size < 8 << 20
    said, told = _end(job)
    assert _over(said) == "over: before some, after some, restarted 0, generation 0, kept"
    assert (LATE.format("checkpoint") in told) == bool(threads)
    (tmp_path / "gate").unlink()
    monkeypatch.setenv("RDB_DATA_answer", "42")
    again = Running(tmp_path / "home", tmp_path, "again", restart="job")
    again.until("restarted: generation 1, before 1, given 42")
    taken = again.rdb("checkpoint", "again", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    over = "over: before some, after some, restarted 1, generation 1, zeros"
    assert _over(_end(again)[0]) == over
    monkeypatch.delenv("RDB_DATA_answer")
    twice = job.rdb("restart", "again")
    assert "restarted: generation 2, before 2, given nothing" in twice.stdout
    assert (LATE.format("restart") in twice.stderr) == bool(threads)
    assert _over(twice.stdout) == "over: before some, after none, restarted 2, generation 2, zeros"


def test_they_run_in_a_recording(tmp_path: Path, build: Build) -> None:
    """Where a checkpoint is asked for, and after a restart from the log."""
    program = str(build("hooks.c", "-pthread", f"-I{INCLUDE}"))
    job = Running(tmp_path / "home", tmp_path, "job", "--record=full", "--", program, "on", "gate")
    _taken(job)
    assert "after some" in _over(_end(job)[0])
    replay_agrees(job.rdb, "job")
    again = job.rdb("restart", "job", "--at", "ckpt:1")
    assert "restarted: generation 1, before 1, given nothing" in again.stdout, again.stderr
    assert _over(again.stdout).endswith("restarted 1, generation 1, zeros")
    replay_agrees(job.rdb, "job-branch-1")


def test_one_that_fails_refuses_the_checkpoint(tmp_path: Path, build: Build) -> None:
    for name, program in {
        "c": (str(build("hooks.c", "-pthread", f"-I{INCLUDE}")), "fails", "gate"),
        "throws": (str(build("hooks_throws.cc", f"-I{INCLUDE}")), "gate"),
        "python": (sys.executable, str(PROGRAMS / "python" / "hooks.py"), "gate", "raises"),
    }.items():
        job = Running(tmp_path / "home", tmp_path, name, "--", *program)
        job.until("there")
        refused = job.rdb("checkpoint", name, "--timeout", "90")
        assert refused.returncode == 1
        assert "rank 0: a callback before the checkpoint has failed" in refused.stderr
        assert "over" in _end(job)[0]
        (tmp_path / "gate").unlink()


def test_one_that_hangs_is_named(tmp_path: Path, build: Build) -> None:
    program = str(build("hooks.c", "-pthread", f"-I{INCLUDE}"))
    job = Running(tmp_path / "home", tmp_path, "job", "--", program, "hangs", "gate")
    job.until("there")
    late = job.rdb("checkpoint", "job", "--timeout", "2")
    assert late.returncode == 1
    assert "rank 0 was in a callback before the checkpoint for 2 s" in late.stderr
    assert "over" in _end(job)[0]


@pytest.mark.parametrize("mpis", [("openmpi", "mpich"), ("mpich", "openmpi")], ids=lambda x: x[0])
def test_all_ranks_are_at_one_safe_point(
    mpis: tuple[str, str], tmp_path: Path, build: Build
) -> None:
    """Their callbacks may call MPI."""
    program = str(build("mpi/hooks_mpi.c", f"-I{INCLUDE}", compiler=f"mpicc.{mpis[0]}"))
    line = ("--mpi", mpis[0], "-n", "3", "--", program, "60", "20", "gate")
    job = Running(tmp_path / "home", tmp_path, "job", *line)
    job.until("half")
    for _ in range(2):
        taken = job.rdb("checkpoint", "job", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
    assert sums(_end(job)[0]) == [
        f"rank {rank}: generation 0, before 1, after 1, restarts 0" for rank in range(3)
    ]
    for number, after in ((1, 0), (2, 1)):
        again = job.rdb("restart", "job", "--at", f"ckpt:{number}", "--mpi", mpis[1])
        assert sums(again.stdout) == [
            f"rank {rank}: generation 1, before 1, after {after}, restarts 1" for rank in range(3)
        ], again.stderr
        assert "cannot be made again" not in again.stderr


def test_ranks_that_come_to_others_are_said(tmp_path: Path, build: Build) -> None:
    program = str(build("mpi/hooks_mpi.c", f"-I{INCLUDE}"))
    line = ("-n", "2", "--", program, "60", "20", "gate", "apart")
    job = Running(tmp_path / "home", tmp_path, "job", *line)
    job.until("half")
    late = job.rdb("checkpoint", "job", "--timeout", "3")
    job.kill()
    why = r"rank \d was in a callback before the checkpoint|could be stopped within 3 s"
    assert late.returncode == 1 and re.search(why, late.stderr)


def test_without_rdb_they_do_nothing(tmp_path: Path, build: Build) -> None:
    (tmp_path / "gate").touch()
    program = str(build("hooks.c", "-pthread", f"-I{INCLUDE}"))
    python = (sys.executable, str(PROGRAMS / "python" / "hooks.py"))
    for command, said in (
        (
            (program, "on"),
            "-1 -1 -1 -1\nthere\nover: before none, after none, restarted 0, generation 0, kept\n",
        ),
        (python, "there\nover 0 False False False None []\n"),
        ((str(_fortran(tmp_path)),), "there -1 -1 -1 -1\nover 0 F F 0 given -1  F\n"),
    ):
        done = subprocess.run(
            [*command, "gate"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout == said


def _fortran(folder: Path) -> Path:
    out = folder / "hooks_fortran"
    sources = (INCLUDE / "rdb.f90", PROGRAMS / "hooks_fortran.f90")
    subprocess.run(["gfortran", "-Wall", "-J", folder, *sources, "-o", out], check=True)
    return out


def test_fortran_and_python_have_them(tmp_path: Path) -> None:
    python = (sys.executable, str(PROGRAMS / "python" / "hooks.py"))
    for name, command, first, second in (
        ("f", (str(_fortran(tmp_path)),), "over 0 T T 0 given -1  F", "over 1 T F 1 given -1  T"),
        ("p", python, "over 0 True True False None []", "over 1 True False True None []"),
    ):
        job = Running(tmp_path / "home", tmp_path, name, "--", *command, "gate")
        _taken(job)
        assert _over(_end(job)[0]) == first
        again = job.rdb("restart", name)
        assert _over(again.stdout) == second, again.stderr
        assert (LATE.format("restart") in again.stderr) == (name == "f")
        (tmp_path / "gate").unlink()
