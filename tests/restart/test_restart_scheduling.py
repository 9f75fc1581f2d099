"""rdb restart of a program that has asked for a processor, a policy and a nice value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from conftest import Build
from events import events_called

from rdb.recording import open_job

Rdb = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize("arguments", [[0], [4200], [0, "attr"]])
def test_they_are_asked_for_again(
    rdb: Rdb, build: Build, rdb_home: Path, arguments: list[object]
) -> None:
    """Also in a branch of the branch, and when more threads have ended than are known at once."""
    whole = rdb("run", "--name", "job", "--", build("live_scheduling.c"), *arguments)
    assert whole.returncode == 0, whole.stderr
    assert whole.stdout.startswith("1 processor, 1, policy 3, nice "), whole.stdout
    assert whole.stdout.endswith(", dumpable 0\n")
    for job, branch in (("job", "first"), ("first", "second")):
        at = events_called(open_job(job).rank(0), "getppid", "thread 1: getppid")[0]
        done = rdb("restart", job, "--at", str(at), "--name", branch)
        assert done.returncode == 0, done.stderr
        assert done.stdout == whole.stdout and "on this machine" not in done.stderr, done.stderr
