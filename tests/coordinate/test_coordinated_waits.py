"""Time-outs that a program without a log waits for: a restart waits for what is left of them."""

from __future__ import annotations

import time
from pathlib import Path

import deadlines
from conftest import Build
from running import DEADLINE_S, Running

WAIT_S = 4.0
LINES = ["recv -1, EAGAIN 1", "ppoll 0, left 0", "select 0, left 0"]


def test_time_outs_are_waited_for_once(tmp_path: Path, build: Build) -> None:
    program = str(build("coordinated_waits.c", "-pthread"))
    began = time.monotonic()
    one = Running(tmp_path / "home", tmp_path, "waits", "--", program)
    deadlines.wait_for("the checkpoint", (one.home / "waits" / "commit-1").exists)
    rest = WAIT_S - (time.monotonic() - began)  # or more
    said, told = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, told
    assert said.splitlines()[0] == LINES[0] and sorted(said.splitlines()[1:]) == LINES[1:]
    for how in ((), ("--record", "full", "--name", "traced")):
        began = time.monotonic()
        done = one.rdb("restart", "waits", "--at", "ckpt:1", *how)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == LINES[0], done.stdout
        assert sorted(done.stdout.splitlines()[1:]) == LINES[1:]
        assert time.monotonic() - began > rest
    verified = one.rdb("replay", "traced", "--verify")
    assert verified.returncode == 0 and "agrees" in verified.stdout, verified.stderr
