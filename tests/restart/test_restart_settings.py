"""rdb restart of a program with settings of its own, or of the program that it has replaced."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from conftest import Build, run_rdb
from events import events_called

from rdb.recording import open_job

Rdb = Callable[..., CompletedProcess[str]]


def restarted(rdb: Rdb, job: str, branch: str) -> list[str]:
    """What the branch says from the first mark of JOB's newest program on."""
    at = events_called(open_job(job).rank(0), "getppid", "thread 1: getppid")[0]
    done = rdb("restart", job, "--at", str(at), "--name", branch)
    assert done.returncode == 0 and "again" not in done.stderr, done.stderr
    verified = rdb("replay", branch, "--verify")
    assert verified.returncode == 0, verified.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("replaced", ["never", "before", "after"])
def test_they_are_set_again(
    rdb: Rdb, build: Build, rdb_home: Path, tmp_path: Path, replaced: str
) -> None:
    """Also in a branch of the branch; what the program had from its launcher is the new one's."""
    program, file = build("live_settings.c"), tmp_path / "next"
    if replaced == "before":
        file.touch()
    whole = rdb("run", "--name", "job", "--", program, "set", file)
    assert whole.returncode == 0, whole.stderr
    assert whole.stdout.startswith("100 files, 1099511627776 bytes, 77, "), whole.stdout
    (line,) = whole.stdout.splitlines()
    if replaced == "after":
        file.touch()
    assert restarted(rdb, "job", "first") == [line] * (2 if replaced == "after" else 1)
    assert restarted(rdb, "first", "second") == [line]

    def limited(*arguments: str) -> CompletedProcess[str]:
        return run_rdb(rdb_home, tmp_path, *arguments, before=("prlimit", "--cpu=7200:"))

    assert restarted(limited, "second", "third") == [re.sub(r"\d+ s$", "7200 s", line)]


def branch_of(rdb: Rdb, program: Path, *words: str | Path) -> tuple[str, CompletedProcess[str]]:
    """What the recorded program says, and a restart from its mark."""
    whole = rdb("run", "--name", "job", "--", program, *words)
    assert whole.returncode == 0, whole.stderr
    at = events_called(open_job("job").rank(0), "getppid", "thread 1: getppid")[0]
    return whole.stdout, rdb("restart", "job", "--at", str(at))


AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change that")


@pytest.mark.parametrize(
    ("way", "why"),
    [
        pytest.param("user", "its user or its groups", marks=AS_ROOT),
        pytest.param("group", "its user or its groups", marks=AS_ROOT),
        pytest.param("groups", "its user or its groups", marks=AS_ROOT),
        pytest.param("root", "its root directory", marks=AS_ROOT),
        pytest.param("space", "other namespaces", marks=AS_ROOT),
        pytest.param("capabilities", "its capabilities", marks=AS_ROOT),
        pytest.param("bounds", "its capabilities", marks=AS_ROOT),
        pytest.param("bounds-then-capabilities", "its capabilities", marks=AS_ROOT),
        pytest.param("securebits", "its securebits", marks=AS_ROOT),
        ("keyring", "a keyring of its own"),
        ("owner", "it sends signals"),
    ],
)
def test_another_identity_is_refused(rdb: Rdb, build: Build, way: str, why: str) -> None:
    """A branch would have what its launcher gives it."""
    _, branch = branch_of(rdb, build("live_identity.c", "-pthread"), way)
    assert branch.returncode == 125 and why in branch.stderr, branch.stderr


@AS_ROOT
def test_the_identity_that_an_earlier_program_left_is_refused(rdb: Rdb, build: Build) -> None:
    program = build("live_identity.c", "-pthread")
    _, branch = branch_of(rdb, program, "space", program, "none")
    assert branch.returncode == 125 and "an earlier program" in branch.stderr, branch.stderr


@pytest.mark.parametrize(
    "way",
    ["none", "same-user", "keeps-for-a-while", pytest.param("user-for-a-while", marks=AS_ROOT)],
)
def test_threads_keep_their_names(rdb: Rdb, build: Build, way: str) -> None:
    said, branch = branch_of(rdb, build("live_identity.c", "-pthread"), way)
    assert (branch.returncode, branch.stdout) == (0, said), branch.stderr
    assert said.startswith("live_identity, user ") and said.endswith("\nworker\n")
