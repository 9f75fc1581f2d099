"""Signals that wait at a checkpoint without a log: a restart has each, as it was sent."""

from __future__ import annotations

from pathlib import Path

import deadlines
from conftest import Build, replay_agrees
from running import DEADLINE_S, Running


def test_signals_that_wait(tmp_path: Path, build: Build) -> None:
    """For the process, for a thread, for a descriptor; in order, as natively."""
    program, gate = build("held_signals.c", "-O1", "-pthread"), tmp_path / "gate"
    gate.touch()
    native = deadlines.native([program, gate]).stdout
    gate.unlink()
    job = Running(tmp_path / "home", tmp_path, "held", "--", str(program), str(gate))
    job.until("waits")
    for _ in range(2):
        taken = job.rdb("checkpoint", "held", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
    gate.touch()
    said, told = deadlines.communicate(job.process, DEADLINE_S)
    assert (job.process.returncode, "waits\n" + said) == (0, native), told
    for number in (1, 2):
        again = job.rdb("restart", "held", "--at", f"ckpt:{number}")
        assert (again.returncode, "waits\n" + again.stdout) == (0, native), again.stderr
    recorded = job.rdb("run", "--name", "recorded", "--", str(program), str(gate))
    assert (recorded.returncode, recorded.stdout) == (0, native), recorded.stderr
    replay_agrees(job.rdb, "recorded")
