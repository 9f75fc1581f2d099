"""`deadlock` where each kind of call of MPI waits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import TIMEOUT_S, Build, Rdb

from rdb.recording import open_job

RANKS = 4
KINDS = ["taken", "file", "inter", "epochs", "later", "freed", "halves", "group", "started"]
KINDS += ["locked", "closes"]


def stuck(kind: str, build: Build, home: Path, tmp_path: Path) -> None:
    """Records it, and kills the ranks when each has said that it waits."""
    program = build("mpi/stuck.c", "-O0")
    command = [sys.executable, "-m", "rdb", "run", "--name", kind, "-n", str(RANKS), "--"]
    command += [str(program), kind, str(tmp_path / "file")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
    ) as run:
        try:
            assert run.stdout is not None
            for _ in range(RANKS):
                assert run.stdout.readline().endswith(b" waits\n")
            _wait_for_the_logs(home / kind, "MPI_Iprobe(" if kind == "polls" else "write(")
            for rank in range(RANKS):
                os.kill(open_job(home / kind).rank(rank).meta["pid"], signal.SIGKILL)
            run.stdout.read()
        except BaseException:
            os.killpg(run.pid, signal.SIGKILL)
            raise


def _wait_for_the_logs(path: Path, last_of_0: str) -> None:
    """An event is logged a moment after its output can be read."""
    deadline = time.monotonic() + TIMEOUT_S
    for rank in range(RANKS):
        last = "write(" if rank else last_of_0
        while True:
            recording = open_job(path).rank(rank)
            if recording.describe(recording.last_event).startswith(last):
                break
            assert time.monotonic() < deadline, f"rank {rank} logged no {last}...)"


def graph_of(kind: str, rdb: Rdb) -> dict[str, Any]:
    done = rdb("deadlock", kind, "--json")
    assert done.returncode == 1, done.stderr
    graph: dict[str, Any] = json.loads(done.stdout)["graph"]
    return graph


@pytest.mark.parametrize("kind", KINDS)
def test_all_are_deadlocked(
    kind: str, rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    stuck(kind, build, rdb_home, tmp_path)
    graph = graph_of(kind, rdb)
    assert graph["deadlocked"] == [0, 1, 2, 3] and not graph["unknown"], graph
    if kind == "taken":
        notes = [
            note for one in graph["waiters"] for need in one["needs"] for note in need["notes"]
        ]
        assert any("went to the receive that was posted at event" in note for note in notes)


def test_who_polls_may_do_something_else(
    rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path
) -> None:
    stuck("polls", build, rdb_home, tmp_path)
    graph = graph_of("polls", rdb)
    assert graph["deadlocked"] == [] and not graph["certain"]
    assert "polls" in graph["unknown"][0], graph
    said = rdb("deadlock", "polls").stdout
    assert said.startswith("unknown whether there is a deadlock of 0-3:"), said
