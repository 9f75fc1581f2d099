"""rdb restart of a program that has asked for a processor, a policy and a nice value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

from conftest import Build
from events import events_called

from rdb.recording import open_job

Rdb = Callable[..., CompletedProcess[str]]


def test_they_are_asked_for_again(rdb: Rdb, build: Build, rdb_home: Path) -> None:
    """Also in a branch of the branch."""
    whole = rdb("run", "--name", "job", "--", str(build("live_scheduling.c")))
    assert whole.returncode == 0, whole.stderr
    assert whole.stdout.startswith("1 processor, 1, policy 3, nice "), whole.stdout
    for job, branch in (("job", "first"), ("first", "second")):
        at = events_called(open_job(job).rank(0), "getppid")[0]
        done = rdb("restart", job, "--at", str(at), "--name", branch)
        assert done.returncode == 0, done.stderr
        assert done.stdout == whole.stdout and "on this machine" not in done.stderr, done.stderr
