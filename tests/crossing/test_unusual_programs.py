"""Ordinary things at unusual moments: every process is replayed, hashed at each event."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb

Recorded = Callable[..., str]


@pytest.fixture
def recorded(rdb: Rdb) -> Recorded:
    def run(program: Path, *options: str) -> str:
        done = rdb("run", "--name", "it", "--hash-every", "1", *options, "--", program)
        assert done.returncode == 0, done.stderr
        verified = rdb("replay", "it", "--verify", "--json")
        assert verified.returncode == 0, verified.stdout
        assert json.loads(verified.stdout)
        return str(done.stdout)

    return run


def test_a_constructor_makes_a_thread_and_a_process(recorded: Recorded, build: Build) -> None:
    library = build("constructor.c", "-DLIBRARY", "-shared", "-fPIC", "-pthread")
    program = build("constructor.c", str(library), "-pthread")
    native = deadlines.native([program])
    assert recorded(program) == native.stdout == "the constructor's child said 3\nturns 1\n"


def test_answers_of_waiting_calls_while_others_run(recorded: Recorded, build: Build) -> None:
    lines = recorded(build("threads_waits.c", "-pthread")).splitlines()
    expected = ["child 5", "done", "epoll 1", "message 6", "poll 1", "recv -1", "select 1"]
    assert sorted(lines) == expected


def test_shared_memory_that_goes_at_once(recorded: Recorded, build: Build) -> None:
    assert recorded(build("shared_leave.c")) == "close_range -1 1\n"


def test_an_owner_that_ends_without_unlocking(recorded: Recorded, build: Build) -> None:
    """By exit, a signal, exec, or as one thread of several: who waits for its lock gets it."""
    lines = recorded(build("robust_owner.c", "-pthread"))
    assert lines == "0 1\n1 1\n2 1\n3 1\n"


def test_huge_pages_are_done_without(recorded: Recorded, build: Build) -> None:
    assert recorded(build("huge_pages.c")) == "done\n"


def test_an_empty_ld_bind_now_does_not_bind(rdb: Rdb, monkeypatch: pytest.MonkeyPatch) -> None:
    """ld.so(8): lazy binding spills registers whose content a replay does not have."""
    monkeypatch.setenv("LD_BIND_NOW", "")
    done = rdb("run", "--name", "it", "--", "/usr/bin/printenv", "LD_BIND_NOW")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_a_program_that_steps_through_itself_is_refused(rdb: Rdb, build: Build) -> None:
    program = build("trap_flag.c")
    assert deadlines.native([program]).stdout == "before\n5 steps\n"
    done = rdb("run", "--name", "it", "--", program)
    assert (done.returncode, done.stdout) == (125, "before\n"), done.stderr
    assert "the program sets the trap flag to step through itself" in done.stderr
    replayed = rdb("replay", "it", "--verify")
    assert replayed.returncode == 0, replayed.stderr
