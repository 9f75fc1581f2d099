"""`deadlock` where each kind of call of MPI waits."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import mpis
import pytest
from conftest import TIMEOUT_S, Build, Rdb
from deadlines import Deadline

from rdb.recording import open_job

RANKS = 4
KINDS = ["taken", "file", "inter", "epochs", "later", "freed", "halves", "group", "started"]
KINDS += ["locked", "closes", "comm", "merged", "requested", "writes", "persistent"]
KINDS += ["shared", "root", "neighbours", "circle", "generalized", "sleeping"]
KINDS += ["joins", "both"]
OF_OPEN_MPI = ["spawns"]  # of MPICH's ranks all but one left with an error
OF_MPI_4 = ["parts"]
ALL = os.environ.get("RDB_TEST_MPI") == "all"
BOTH = KINDS if ALL else KINDS[:1]


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
_LOOK_S = 0.02  # ranks that wait yield to whoever looks without a pause
_POLLS = ("polls", "arrives", "looks", "window")  # rank 0 logs all the time


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
    mpis.needs(mpi)
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
            _wait_until_all_wait(home / kind, kind)
            for rank in sorted(range(RANKS), key=lambda rank: rank != crashes):
                with contextlib.suppress(ProcessLookupError):  # mpiexec has seen the first end
                    pid = open_job(home / kind).rank(rank).meta["pid"]
                    os.kill(pid, signal.SIGABRT if rank == crashes else signal.SIGKILL)
                if rank == crashes:
                    _wait_for_the_end(home / kind, rank)
            run.stdout.read()
        except BaseException:
            os.killpg(run.pid, signal.SIGKILL)
            raise


def _wait_until_all_wait(path: Path, kind: str) -> None:
    """Each rank has logged what comes before the call that waits, and is in that call now: it
    logs no more, and sleeps, has computed for a while or has given way often."""
    deadline = Deadline(TIMEOUT_S)
    for rank in range(RANKS):
        last = _LAST if rank else (_LAST_OF_0.get(kind, "write("),)
        seen, cpu_s, switches = -1, 0.0, 0
        while True:
            recording = open_job(path).rank(rank)
            event, pid = recording.last_event, recording.meta["pid"]
            there = recording.describe(event).removeprefix("thread 1: ").startswith(last)
            if there and rank == 0 and kind in _POLLS:
                break
            if not there or event != seen:
                seen, cpu_s, switches = event if there else -1, _cpu_s(pid), _switches(pid)
            elif all(state == "S" for state in _states(pid)) or (
                _cpu_s(pid) > cpu_s + 0.05 or _switches(pid) > switches + 50
            ):
                break
            assert not deadline.over(), f"rank {rank} does not wait after {last}...)"
            time.sleep(_LOOK_S)


def _cpu_s(pid: int) -> float:
    """proc_pid_stat(5), "utime" and "stime"."""
    return sum(map(int, _stat(Path(f"/proc/{pid}"))[11:13])) / os.sysconf("SC_CLK_TCK")


def _switches(pid: int) -> int:
    """Of the first thread (proc_pid_status(5)). One that yields to others may get no time."""
    said = Path(f"/proc/{pid}/status").read_text()
    return sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", said)))


def _states(pid: int) -> list[str]:
    """Of each thread."""
    return [_stat(thread)[0] for thread in Path(f"/proc/{pid}/task").iterdir()]


def _stat(of: Path) -> list[str]:
    """proc_pid_stat(5) from "state" on."""
    return (of / "stat").read_text().rpartition(")")[2].split()


def _wait_for_the_end(path: Path, rank: int) -> None:
    """It logs how it ended; who kills it before, as mpiexec may when it sees another end, has it
    end otherwise."""
    deadline = Deadline(TIMEOUT_S)
    while open_job(path).rank(rank).end is None:
        assert not deadline.over(), f"rank {rank} logged no end"
        time.sleep(_LOOK_S)


def graph_of(kind: str, rdb: Rdb, code: int = 1) -> dict[str, Any]:
    done = rdb("deadlock", kind, "--json")
    assert done.returncode == code, done.stderr
    graph: dict[str, Any] = json.loads(done.stdout)["graph"]
    return graph


@pytest.mark.parametrize(
    ("mpi", "kind"),
    [
        *(("openmpi", kind) for kind in sorted({*KINDS[::2], *BOTH, *OF_OPEN_MPI})),
        *(("mpich", kind) for kind in sorted({*KINDS[1::2], *BOTH, *OF_MPI_4})),
    ],
)
def test_all_are_deadlocked(
    mpi: str, kind: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    """Of each kind; with RDB_TEST_MPI=all over both."""
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


def test_the_line_is_that_of_the_thread_that_waits_in_mpi(
    rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    """Another thread made the last event."""
    stuck("joins", build, rdb_home, tmp_path)
    said = rdb("deadlock", "joins").stdout
    assert re.search(r"rank 0, event \d+, receives \(\) at stuck\.c:\d+\n  MPI_Recv", said), said


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
        ("openmpi", "accepts", "outside of this job take part in MPI_Comm_accept"),
        ("openmpi", "connects", "outside of this job take part in MPI_Comm_connect"),
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
