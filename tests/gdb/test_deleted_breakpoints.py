"""`undo` of a deleted breakpoint: all that was set of it is back, and its number is understood."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded, in_console


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = PROGRAMS / "locations.cc"
    made = Recorded(tmp_path_factory.mktemp("it"), build(source.name, "-O0"), source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        opened.run("break twice")
        opened.run("condition 1 a >= 0")
        opened.run("ignore 1 3")
        opened.run("disable 1.2")
        opened.run("python gdb.breakpoints()[0].commands = 'silent'")
        opened.run("break main thread 1")
        yield opened


def shown(gdb: Gdb) -> list[str]:
    """The lines of `info breakpoints`, without numbers."""
    return sorted(line.lstrip("0123456789") for line in gdb.run("info breakpoints").splitlines())


def test_all_that_was_set_is_back(gdb: Gdb) -> None:
    before = shown(gdb)
    assert any(" n " in line for line in before) and any("thread 1" in line for line in before)
    gdb.run("delete 1")
    gdb.run("delete 2")
    gdb.run("undo 2")
    assert shown(gdb) == before
    gdb.run("rdb-meant disable 1.1")
    assert shown(gdb) != before
    gdb.run("undo")
    assert shown(gdb) == before
    gdb.run("rdb-meant ignore 1 9")
    assert any("ignore next 9 hits" in line for line in shown(gdb))


def test_old_numbers_in_the_console(recorded: Recorded) -> None:
    lines = ["break twice", "break main", "delete 1", "undo", "disable 1", "condition 1 a > 3",
             "info breakpoints 1", "delete 1 2", "info breakpoints"]  # fmt: skip
    *_, shown_one, _, none = in_console(recorded.home, "job", lines)
    assert "keep n" in shown_one and "stop only if a > 3" in shown_one
    assert "No breakpoints" in none


def test_commands_in_the_console(recorded: Recorded) -> None:
    """By the old number; of a number that was never there nothing runs."""
    lines = ["break twice", "delete 1", "undo", "commands 1\nprint 41 + 1\nend", "info breakpoints",
             "commands 7\nprint 6 * 6\nend"]  # fmt: skip
    *_, shown_one, refused = in_console(recorded.home, "job", lines)
    assert "print 41 + 1" in shown_one
    assert "No breakpoint number 7" in refused and "36" not in refused


def test_a_deleted_watchpoint_that_has_just_stopped(recorded: Recorded) -> None:
    """Deleting it is a command of its own.  Where its function does not run, it cannot be back."""
    lines = ["break main", "run", "continue", "watch i", "continue", "undo", "break twice",
             "delete 2", "undo", "info breakpoints", "goto start", "delete 2", "undo"]  # fmt: skip
    *_, undone, listed, _, _, lost = in_console(recorded.home, "job", lines)
    assert "undid delete 2" in undone and "twice" in listed and "watchpoint" in listed
    assert "undid delete 2" in lost and "cannot be set again here" in lost
