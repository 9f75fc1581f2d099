"""Hosts lost in a checkpoint without a log, and in a restart: the last whole one stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build

from cluster.conftest import Cluster
from cluster.host import until
from cluster.test_coordinated import sums
from cluster.test_lost import doomed
from rdb.coordinate.board import Board, State, board_path
from rdb.coordinate.coordinated import committed, slots_of
from rdb.errors import DamagedRecording
from rdb.recording import open_job

pytestmark = pytest.mark.cluster
RANKS = 4
__all__ = ["doomed"]


def all_run(job: Path) -> bool:
    try:
        slots = slots_of(open_job(job)) if (job / "job.json").exists() else []
    except DamagedRecording:  # a board is being made
        return False
    return len(slots) == RANKS and all(slot.state is State.RUNS for slot in slots)


def test_hosts_lost_during_a_checkpoint_and_a_restart(doomed: Cluster, build: Build) -> None:
    home, gate = doomed.folder / "home", doomed.folder / "gate"
    env = {"RDB_HOME": str(home)}
    four = doomed.host_file("four", "node[1-4]")
    said = doomed.folder / "job"
    line = ["run", "--record=off", "-n", str(RANKS), "--hosts", four, "--name", "job", "--"]
    program = build("mpi/coordinated_mpi.c")
    job = doomed.head.start(*(*doomed.command, *line, program, "20", gate), env=env, output=said)
    until("rank 0 half-way", lambda: job.poll() is not None or "\nhalf\n" in said.read_text())
    first = doomed.head.rdb("checkpoint", "job", "--timeout", "60", env=env)
    assert first.returncode == 0, first.stderr

    # a rank that comes to no rest, and then its host is gone
    slot = slots_of(open_job(home / "job"))[3]
    assert doomed.nodes[3].run("kill", "-STOP", str(slot.pid)).returncode == 0
    asked = doomed.folder / "asked"
    asks = doomed.head.start(
        *(*doomed.command, "checkpoint", "job", "--timeout", "60"), env=env, output=asked
    )
    board = Board(board_path(home / "job", "node4"))
    until("its host hears of it", lambda: board.wanted == 2 or asks.poll() is not None)
    assert asks.poll() is None, asked.read_text()
    doomed.nodes[3].lose()
    assert asks.wait(90) == 1, asked.read_text()
    assert "Traceback" not in asked.read_text()
    assert job.wait(90) != 0  # mpirun ends a job that has lost a rank
    assert [one.number for one in committed(home / "job")] == [1]

    # on those that are left, of which one is lost as well
    three = doomed.host_file("three", "node1 slots=2", "node2:1", "node3:1")
    lost = doomed.folder / "lost"
    again = doomed.head.start(
        *(*doomed.command, "restart", "job", "--hosts", three, "--name", "lost"),
        env=env,
        output=lost,
    )
    until("all ranks go on", lambda: again.poll() is not None or all_run(home / "lost"))
    doomed.nodes[2].lose()
    assert again.wait(90) != 0, lost.read_text()
    assert "Traceback" not in lost.read_text()

    gate.touch()
    two = doomed.host_file("two", "node[1-2] slots=2")
    done = doomed.head.rdb("restart", "job", "--hosts", two, "--name", "last", env=env)
    assert done.returncode == 0, done.stderr
    whole = doomed.head.rdb(
        *("run", "--record=off", "-n", str(RANKS), "--hosts", two, "--", program, "20", gate),
        env=env,
    )
    assert sums(done.stdout) == sums(whole.stdout) and len(sums(whole.stdout)) == RANKS
