"""rdb restart of a program with settings of its own, or of the program that it has replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from conftest import Build
from events import events_called

from rdb.recording import open_job

Rdb = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize("how", [["set"], ["set", "next"]], ids=["alone", "next"])
def test_they_are_set_again(rdb: Rdb, build: Build, rdb_home: Path, how: Sequence[str]) -> None:
    """Also in a branch of the branch."""
    whole = rdb("run", "--name", "job", "--", build("live_settings.c"), *how)
    assert whole.returncode == 0, whole.stderr
    assert whole.stdout.startswith("100 files, 1099511627776 bytes, 77, "), whole.stdout
    for job, branch in (("job", "first"), ("first", "second")):
        at = events_called(open_job(job).rank(0), "getppid", "thread 1: getppid")[0]
        done = rdb("restart", job, "--at", str(at), "--name", branch)
        assert (done.returncode, done.stdout) == (0, whole.stdout), done.stderr
        assert "again" not in done.stderr
        assert rdb("replay", branch, "--verify").returncode == 0
