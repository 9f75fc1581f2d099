"""A variable that the compiler has kept nowhere: said at once, with what leads to the same type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, GdbError, Recorded

NAME = "kept_nowhere.c"
HINT = " (of its type: target in warm)"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Gdb]:
    made = Recorded(tmp_path_factory.mktemp("it"), build(NAME, "-O2"), PROGRAMS / NAME)
    with made.gdb() as gdb:
        gdb.run("break warm")
        gdb.run("continue")
        gdb.run("up")
        for name in ("idle", "unused"):
            assert "optimized out" in gdb.run(f"info address {name}")
        yield gdb


def test_bisect_says_what_there_is(opened: Gdb) -> None:
    answer = json.loads(opened.run("bisect idle->heat >= 0 --json"))
    assert answer["refused"].startswith(f"idle, {NAME}:30, is optimized out everywhere{HINT}"), (
        answer
    )
    found = json.loads(opened.run("bisect target->heat >= 0 --json"))
    assert found["before_true"] and found["after_false"], found


def test_numbers_have_no_others(opened: Gdb) -> None:
    answer = json.loads(opened.run("bisect unused < 0 --json"))
    assert f"unused, {NAME}:31, is optimized out everywhere (at" in answer["refused"], answer


def test_an_operand_that_is_not_needed(opened: Gdb) -> None:
    said = opened.run("find-event boxes[0].heat > 1 || unused > 3 --count")
    assert re.match(r"[1-9]\d* events", said), said


def test_find_event_says_it_too(opened: Gdb) -> None:
    with pytest.raises(GdbError, match=r"idle, kept_nowhere\.c:30, is optimized out everywhere"):
        opened.run("find-event idle->heat < 0")


def test_the_address_of_an_object(tmp_path: Path, build: Build) -> None:
    """That of the object whose member function runs: no longer there is not that none runs."""
    program = build("lost_this.cpp", "-O2", compiler="g++")
    made = Recorded(tmp_path, program, PROGRAMS / "lost_this.cpp")
    with made.gdb() as gdb:
        answer = json.loads(gdb.run("bisect v < 3 --json"))
    said = r"undefined at the other \d+ that were looked at: this is optimized out in Box::fill"
    assert re.search(said, answer["refused"]), answer
