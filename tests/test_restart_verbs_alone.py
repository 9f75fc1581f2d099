"""rdb restart of one process with verbs, at the steps that it says: each goes on as it did, and so
does a branch of that."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.recording import open_job


class Steps:
    """A program that writes a line after each step."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        done = run_rdb(self.home, folder, "run", "--hca=soft", "--name", "all", "--", str(program))
        assert done.returncode == 0, done.stderr
        self.lines = done.stdout.splitlines()
        recording = open_job(self.home / "all").rank(0)
        self.events = [
            one.event
            for one in recording.records()
            if one.kind.is_event and recording.describe(one.event).startswith("write(1,")
        ]
        assert len(self.events) == len(self.lines)

    def after(self, line: str, name: str) -> None:
        """It goes on after that line, and says all that comes behind it."""
        at = self.lines.index(line)
        self.goes_on("all", self.events[at], name, self.lines[at + 1 :])

    def again(self, branch: str, line: str, name: str) -> None:
        """And the branch that went on there, from its beginning."""
        self.goes_on(branch, 0, name, self.lines[self.lines.index(line) + 1 :])

    def goes_on(self, job: str, event: int, name: str, lines: list[str]) -> None:
        done = run_rdb(self.home, self.folder, "restart", job, "--at", str(event), "--name", name)
        assert done.returncode == 0, (job, event, done.stderr)
        assert done.stdout.splitlines() == lines
        verified = run_rdb(self.home, self.folder, "replay", name, "--verify")
        assert verified.returncode == 0, verified.stderr


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Steps:
    return Steps(tmp_path_factory.mktemp("events"), build("verbs_events.c", "-O1", "-libverbs"))


def test_a_limit_that_was_not_reached_is_reached_later(events: Steps) -> None:
    events.after("armed", "armed")


def test_events_that_nobody_has_asked_for_are_there(events: Steps) -> None:
    assert events.lines[-4:-1] == [
        "refused",
        "local access violation work queue error",
        "last WQE reached",
    ]
    events.after("refused", "refused")
    events.again("refused", "refused", "again")


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Steps:
    return Steps(tmp_path_factory.mktemp("joined"), build("verbs_joined.c", "-O1", "-libverbs"))


def test_it_is_in_its_multicast_group_again(joined: Steps) -> None:
    """It leaves the group, which only who is in it can."""
    joined.after("joined", "joined")
    joined.again("joined", "joined", "again")


def test_a_window_is_bound_again(joined: Steps) -> None:
    """Under the key that the program knows; so it is when it binds it once more."""
    joined.after("bound", "bound")
    joined.again("bound", "bound", "bound-2")
    joined.after("bound again", "later")
