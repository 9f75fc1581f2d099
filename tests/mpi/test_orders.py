"""A job whose failure depends on the order of messages: each recording replays its own order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import TIMEOUT_S, Build

from rdb.recording import open_job

RECORDINGS = int(os.environ.get("RDB_TEST_ORDERS", "5"))
RANKS, EACH = 3, 6


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build("mpi/order.c", "-O1")


@pytest.mark.parametrize("number", range(RECORDINGS))
def test_each_recording_replays_its_own_order(number: int, program: Path, tmp_path: Path) -> None:
    def rdb(*arguments: str) -> subprocess.CompletedProcess[str]:
        return deadlines.run(
            [sys.executable, "-m", "rdb", *arguments],
            TIMEOUT_S,
            env={**os.environ, "RDB_HOME": str(tmp_path / "home")},
        )

    run = rdb("run", "--name", "o", "-n", str(RANKS), "--hash-every", "1", "--", str(program))
    *order, digest = map(int, run.stdout.split())
    recording = open_job(tmp_path / "home" / "o").rank(0)
    failed = order[1 - RANKS] == RANKS - 1
    assert run.returncode == (3 if failed else 0), run.stderr
    assert recording.state == f"exited {run.returncode}"
    # The log has the order that the program saw, and a replay is right to the last hash.
    received = [
        one.source for event in range(recording.last_event + 1) for one in recording.receives(event)
    ]
    assert received == order and len(order) == EACH * (RANKS - 1)
    expected = 5381
    for source in order:
        expected = (expected * 33 + source) % 2**64
    assert digest == expected
    done = rdb("replay", "o", "--verify", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(one["rank"], one["ok"]) for one in json.loads(done.stdout)] == [
        (rank, True) for rank in range(RANKS)
    ]
