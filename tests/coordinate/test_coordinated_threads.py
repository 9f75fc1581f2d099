"""Checkpoints without a log of programs with threads: all stand still, and go on from there."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build, replay_agrees
from running import DEADLINE_S, Running, sums, sums_after


@pytest.fixture(scope="module")
def threads(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Running:
    """One thread computes without an event, others are in locks, barriers and calls that wait."""
    folder = tmp_path_factory.mktemp("threads")
    program = build("coordinated_threads.c", "-O1", "-pthread", "-fopenmp")
    one = Running(folder / "home", folder, "threads", "--", str(program), "40", "gate")
    one.until("half")
    for number in (1, 2):
        taken = one.rdb("checkpoint", "threads", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
        assert f"rank 0: checkpoint {number}" in taken.stdout
        assert "the rank was stopped for" in taken.stdout
    (folder / "gate").touch()
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    (folder / "sum").write_text(said)
    return one


def test_threads_go_on_from_each_checkpoint(threads: Running) -> None:
    whole = Path(threads.folder / "sum").read_text()
    assert whole.startswith("sum ") and "5 of 5 ended" in whole
    for number in (1, 2):
        done = threads.rdb("restart", "threads", "--at", f"ckpt:{number}")
        assert (done.returncode, done.stdout) == (0, whole), done.stderr


def test_they_are_recorded_from_there_on(threads: Running) -> None:
    done = threads.rdb("restart", "threads", "--record", "full", "--name", "recorded")
    assert done.returncode == 0, done.stderr
    assert done.stdout == Path(threads.folder / "sum").read_text()
    replay_agrees(threads.rdb, "recorded")


def test_a_restart_has_checkpoints_of_its_own(threads: Running) -> None:
    (threads.folder / "gate").unlink()
    again = Running(threads.home, threads.folder, "again", "--at", "ckpt:1", restart="threads")
    again.until_all_run()
    taken = again.rdb("checkpoint", "again", "--timeout", "90")
    assert taken.returncode == 0, taken.stderr
    (threads.folder / "gate").touch()
    assert deadlines.wait(again.process, DEADLINE_S) == 0
    done = threads.rdb("restart", "again")
    assert done.returncode == 0, done.stderr
    assert done.stdout == Path(threads.folder / "sum").read_text()


@pytest.mark.parametrize("level", ["funneled", "shared", "multiple"])
def test_ranks_with_threads_go_on(level: str, tmp_path: Path, build: Build) -> None:
    """Only one thread is in MPI, also with a shared window; or three are, each in a wait, an
    exchange or a collective."""
    program = str(build("mpi/coordinated_mpi_threads.c", "-pthread", "-fopenmp"))
    line = ("-n", "2", "--", program, level, "12", "gate")
    one = Running(tmp_path / "home", tmp_path, level, *line)
    one.until("half")
    whole = sums_after(one, 1)
    assert len(whole) == 2
    done = one.rdb("restart", level)
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole
