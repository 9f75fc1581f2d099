"""`deadlock` where each kind of call of MPI waits."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import test_mpi_abi
from conftest import TIMEOUT_S, Build, Rdb

from rdb.recording import open_job

RANKS = 4
KINDS = ["taken", "file", "inter", "epochs", "later", "freed", "halves", "group", "started"]
KINDS += ["locked", "closes", "comm", "merged", "requested", "writes", "persistent"]
KINDS += ["shared", "root", "neighbours", "circle", "generalized", "sleeping"]
KINDS += ["joins", "both"]
OF_OPEN_MPI = ["spawns"]  # of MPICH's ranks all but one left with an error
OF_MPI_4 = ["parts"]


# What the MPI may answer at once, after the output: the rank waits in what follows, then.
_LAST = ("write(", "MPI_Comm_free(", "MPI_File_iwrite_at_all(", "MPI_Wait(")
_LAST += ("MPI_Ineighbor_allgather(", "MPI_Neighbor_allgather(")
_LAST_OF_0 = {
    "polls": "MPI_Iprobe(",
    "arrives": "MPI_Parrived(",
    "looks": "MPI_Request_get_status(",
    "window": "MPI_Win_test(",
    "neighbours": "MPI_Neighbor_allgather(",
}


def stuck(
    kind: str,
    build: Build,
    home: Path,
    tmp_path: Path,
    mpi: str = "openmpi",
    crashes: int | None = None,
) -> None:
    """Records it, and kills the ranks when each has said that it waits; CRASHES: a rank that aborts
    before."""
    test_mpi_abi.needs(mpi)
    program = build("mpi/stuck.c", "-O0", compiler=f"mpicc.{mpi}")
    command = [sys.executable, "-m", "rdb", "run", "--mpi", mpi, "--name", kind, "-n", str(RANKS)]
    command += ["--", str(program), kind, str(tmp_path / "file")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
    ) as run:
        try:
            assert run.stdout is not None
            for _ in range(RANKS):
                assert run.stdout.readline().endswith(b" waits\n")
            _wait_for_the_logs(home / kind, _LAST_OF_0.get(kind, "write("))
            for rank in sorted(range(RANKS), key=lambda rank: rank != crashes):
                with contextlib.suppress(ProcessLookupError):  # mpiexec has seen the first end
                    pid = open_job(home / kind).rank(rank).meta["pid"]
                    os.kill(pid, signal.SIGABRT if rank == crashes else signal.SIGKILL)
            run.stdout.read()
        except BaseException:
            os.killpg(run.pid, signal.SIGKILL)
            raise


def _wait_for_the_logs(path: Path, last_of_0: str) -> None:
    """An event is logged a moment after its output can be read."""
    deadline = time.monotonic() + TIMEOUT_S
    for rank in range(RANKS):
        last = _LAST if rank else (last_of_0,)
        while True:
            recording = open_job(path).rank(rank)
            if recording.describe(recording.last_event).removeprefix("thread 1: ").startswith(last):
                break
            assert time.monotonic() < deadline, f"rank {rank} logged no {last}...)"


def graph_of(kind: str, rdb: Rdb, code: int = 1) -> dict[str, Any]:
    done = rdb("deadlock", kind, "--json")
    assert done.returncode == code, done.stderr
    graph: dict[str, Any] = json.loads(done.stdout)["graph"]
    return graph


@pytest.mark.parametrize(
    ("mpi", "kind"),
    [
        *(("openmpi", kind) for kind in KINDS + OF_OPEN_MPI),
        *(("mpich", kind) for kind in KINDS + OF_MPI_4),
    ],
)
def test_all_are_deadlocked(
    mpi: str, kind: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    stuck(kind, build, rdb_home, tmp_path, mpi)
    graph = graph_of(kind, rdb)
    assert graph["deadlocked"] == [0, 1, 2, 3] and not graph["unknown"], graph
    if kind == "taken":
        notes = [
            note for one in graph["waiters"] for need in one["needs"] for note in need["notes"]
        ]
        assert any("went to the receive that was posted at event" in note for note in notes)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_rank_goes_on_if_one_of_its_threads_can(
    mpi: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    stuck("either", build, rdb_home, tmp_path, mpi)
    graph = graph_of("either", rdb, 0)
    assert graph["deadlocked"] == [] and not graph["unknown"], graph
    assert [one["rank"] for one in graph["waiters"]] == [0, 2, 3] and graph["free"] == [1]
    assert [need["ranks"] for need in graph["waiters"][0]["needs"]] == [[3], [1]]
    shown = rdb("messages", "either")  # 1 stands in no call of MPI
    assert shown.returncode == 0 and not shown.stderr, shown


@pytest.mark.parametrize("kind", ["creates", "shares", "attaches", "opens", "turns"])
def test_who_computes_may_still_come(
    kind: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    """Those that are there wait for that rank alone, not for each other."""
    stuck(kind, build, rdb_home, tmp_path)
    graph = graph_of(kind, rdb, 0)
    assert graph["deadlocked"] == [] and not graph["unknown"] and graph["free"] == [0], graph
    needs = [need["ranks"] for one in graph["waiters"] for need in one["needs"]]
    assert [one["rank"] for one in graph["waiters"]] == [1, 2, 3] and needs == [[0]] * 3, graph


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_rank_that_crashed_brings_nothing(
    mpi: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    """It was free, as above, but aborts."""
    stuck("either", build, rdb_home, tmp_path, mpi, crashes=1)
    graph = graph_of("either", rdb)
    assert graph["deadlocked"] == [0, 2, 3] and not graph["unknown"], graph
    assert graph["ended"] == {"1": "signal 6"} and not graph["free"]


@pytest.mark.parametrize(
    ("mpi", "kind"),
    [("openmpi", "polls"), ("openmpi", "looks"), ("mpich", "arrives"), ("mpich", "window")],
)
def test_who_polls_may_do_something_else(
    mpi: str, kind: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    stuck(kind, build, rdb_home, tmp_path, mpi)
    graph = graph_of(kind, rdb)
    assert graph["deadlocked"] == [] and not graph["certain"]
    assert "polls" in graph["unknown"][0], graph
    needs = next(one["needs"] for one in graph["waiters"] if one["rank"] == 0)
    assert [need["ranks"] for need in needs] == [[1]], needs
    said = rdb("deadlock", kind).stdout
    assert said.startswith("unknown whether there is a deadlock of 0-3:"), said


@pytest.mark.parametrize(
    ("mpi", "kind", "why"),
    [  # Debian 12's MPICH has no ports
        ("openmpi", "accepts", "whether the others of MPI_Comm_accept come"),
        ("openmpi", "connects", "whether the others of MPI_Comm_connect come"),
        ("openmpi", "threads", "it has other threads"),
        ("mpich", "threads", "it has other threads"),
        ("openmpi", "asleep", "all its threads wait for each other"),
    ],
)
def test_what_no_log_says_is_unknown(
    mpi: str, kind: str, why: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    stuck(kind, build, rdb_home, tmp_path, mpi)
    graph = graph_of(kind, rdb)
    assert graph["deadlocked"] == [] and not graph["certain"]
    assert why in graph["unknown"][0], graph
