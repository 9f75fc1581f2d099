"""Signals ignored and blocked: by whoever starts the program, over its own execve, and in /proc."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from alone import record, verify_all
from conftest import Build

ALL, ODD, EVEN = "f" * 16, "5" * 16, "a" * 16


@pytest.mark.parametrize(
    ("ignored", "blocked"),
    [("0", "0"), (ALL, "0"), ("0", ALL), (ODD, EVEN), (EVEN, ODD), (ALL, ALL)],
)
def test_all_signals(tmp_path: Path, build: Build, ignored: str, blocked: str) -> None:
    """Dispositions, masks and what waits, in a program and in the one that it executes."""
    program = build("signals_inherited.c", "-O1")
    starter = (program, Path(ignored), Path(blocked))
    natively = deadlines.native([*starter, program, "say"])
    made = record(tmp_path, program, "say", under=starter, hash_every=1000)
    assert (made.result.returncode, made.result.stdout) == (0, natively.stdout)
    verify_all(made, ignored)


def test_what_is_ignored_by_default_waits_while_it_is_blocked(tmp_path: Path, build: Build) -> None:
    program = build("signals_ignored_wait.c", "-O1", "-pthread")
    natively = deadlines.native([program])
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, natively.stdout)
    made.expect_equal()


def test_the_order_of_signals_that_wait_together(tmp_path: Path, build: Build) -> None:
    """signal(7): all frames are made before the first handler runs; stops and SIGCONT discard
    each other."""
    program = build("signals_order.c", "-O1")
    natively = deadlines.native([program])
    made = record(tmp_path, program)
    assert (made.result.returncode, made.result.stdout) == (0, natively.stdout)
    made.expect_equal()
