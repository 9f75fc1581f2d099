"""Calls that wait for all of what they ask for, while another thread computes."""

from __future__ import annotations

import deadlines
from conftest import Build, Rdb


def test_none_moves_less_than_natively(rdb: Rdb, build: Build) -> None:
    program = build("waits_for_all.c", "-O1", "-pthread")
    native = deadlines.native([program]).stdout
    assert "recvmmsg late: 4, error 0, left 0" in native
    done = rdb("run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == native
    verified = rdb("replay", "job", "--verify")
    assert verified.returncode == 0, verified.stderr
