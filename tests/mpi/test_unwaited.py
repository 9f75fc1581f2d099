"""Receives that the program never completes: their data come as they come without rdb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Build, Rdb
from mpijob import lines
from mpis import launch, needs, record

HOWS = ("barrier", "persistent", "free", "poll", "late", "index", "collective", "reduction")


@pytest.mark.parametrize(
    ("mpi", "how"),
    [*((mpi, how) for mpi in ("openmpi", "mpich") for how in HOWS), ("mpich", "parts")],
)
def test_what_came_is_seen(mpi: str, how: str, build: Build, tmp_path: Path) -> None:
    needs(mpi)
    program = build("mpi/unwaited.c", "-O1", compiler=f"mpicc.{mpi}")
    native = launch(mpi, 2, program, how)
    job = record(tmp_path, mpi, 2, program, how)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    assert len(lines(native)) == 2
    said = job.result.stderr
    assert ("never completed" in said) == (how not in ("free", "late", "index")), said
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_what_finalize_brought_is_said(mpi: str, build: Build, tmp_path: Path) -> None:
    """Whether MPI_Finalize still takes the message in is chance, without rdb, too."""
    needs(mpi)
    program = build("mpi/unwaited.c", "-O1", compiler=f"mpicc.{mpi}")
    job = record(tmp_path, mpi, 2, program, "finalize")
    assert job.result.returncode == 0, job.result.stderr
    (end,) = lines(job.result)
    assert end in ("end 0 0", "end 7 10")
    assert ("never completed" in job.result.stderr) == (end == "end 7 10")
    job.expect_equal()


@pytest.mark.parametrize("how", ["barrier", "reduction"])
def test_what_an_order_cannot_bring_is_said(how: str, build: Build, rdb: Rdb) -> None:
    program = build("mpi/unwaited.c", "-O1")
    done = rdb("run", "--record=order", "-n", "2", "--", program, how, "order")
    assert "has not seen the data, which without --record=order it would have" in done.stderr


def test_info_says_what_was_never_completed(rdb: Rdb, build: Build) -> None:
    program = build("mpi/unwaited.c", "-O1")
    for how, came in (("barrier", 1), ("never", 0)):
        done = rdb("run", "--name", how, "-n", "2", "--", program, how)
        assert done.returncode == 0, done.stderr
        said = [one for one in rdb("info", how).stdout.splitlines() if "never completed" in one]
        assert len(said) == 1 and said[0].startswith("rank 1, 1 receive was posted"), said
        assert (
            f" for {came} of them a message had come" in said[0] and "from rank 0, tag 3" in said[0]
        )
        assert ("never completed" in done.stderr) == bool(came)
    rdb("run", "--name", "reduction", "-n", "2", "--", program, "reduction")
    said = rdb("info", "reduction").stdout
    assert "rank 1, 1 nonblocking collective was started but never completed (MPI_Wait" in said
    rdb("run", "--name", "late", "-n", "2", "--", program, "late")
    assert "never completed" not in rdb("info", "late").stdout
    queues = json.loads(rdb("messages", "late", "--json").stdout)
    assert [one["posted"] for one in queues] == [[], []]


def test_a_restart_between_the_data_and_the_wait(rdb: Rdb, build: Build) -> None:
    """The message counts as received at the wait: it is under way at a cut before that."""
    program = build("mpi/unwaited.c", "-O1")
    assert rdb("run", "--name", "late", "-n", "2", "--", program, "late").returncode == 0
    (found,) = json.loads(rdb("find-event", "late", "mpi.Wait and rank==1", "--json").stdout)
    event = found["event"]
    done = rdb("restart", "late", "--rank", "1", "--at", str(event - 1))
    assert done.returncode == 0, done.stderr
    assert "late 7 " in done.stdout, done.stdout + done.stderr
