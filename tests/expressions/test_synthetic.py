"""Pointers and references of which the optimizer has left only what they lead to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import check
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import Gdb, Recorded

GONE = "is optimized out (what it points to may have a value)"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = PROGRAMS / "synthetic.cc"
    made = Recorded(tmp_path_factory.mktemp("it"), build(source.name, "-O2"), source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        opened.run("break getppid")
        opened.run("continue")
        opened.run("finish")
        yield opened


def test_what_they_lead_to_has_a_value(gdb: Gdb) -> None:
    """GDB 13 itself fails an assertion at `q.x > 3`."""
    check(gdb, {
        "*a": 7,
        "*a * *a == 49": 1,
        "p->x": 3,
        "p->x > 3": 0,
        "(*p).y + 1": 5,
        "q.x > 3": 1,
        "q.x + q.y": 13,
    })  # fmt: skip
    assert gdb.run("print p->x + 1").endswith("= 4\n")
    assert gdb.run("rdb-meant display q.x + 1").endswith(" = 7\n")
    assert "not in memory" in gdb.fails("rdb-meant watch q.x")


def test_they_themselves_are_not_null(gdb: Gdb, recorded: Recorded) -> None:
    assert f"p {GONE}" in gdb.fails("print p == 0")
    assert f"a {GONE}" in gdb.fails("rdb-number a")
    assert f"p {GONE}" in gdb.fails("rdb-number p != 0 && p->x > 1")
    assert "synthetic pointer" in gdb.run("print p")
    said = run_rdb(recorded.home, recorded.folder, "bisect", "job", "look::p != 0")
    assert said.returncode == 1 and f"p {GONE}" in said.stdout


def test_an_array_in_no_memory_gets_none(gdb: Gdb) -> None:
    """GDB itself calls malloc in the program, to have an address."""
    gdb.run("continue")
    gdb.run("finish")
    check(gdb, {"table[1]": 2})
    for expression in ("*table@2", "*table"):
        assert gdb.fails(f"print {expression}") == "table is not in memory."
    assert not json.loads(gdb.run("rdb-state"))["branch"]


def test_an_object_that_a_closure_has_copied(
    tmp_path: Path, build: Build, recorded: Recorded
) -> None:
    program = build(recorded.source.name, "-O0")
    with Recorded(tmp_path, program, recorded.source).gdb() as gdb:
        gdb.run("break getuid")
        for _ in range(3):
            gdb.run("continue")
        gdb.run("finish")
        check(gdb, {"n": 12, "n > 11": 1, "this->n": 12, "solver::run::by": 1})
        assert gdb.run("print *this").endswith("= {n = 12}\n")
        assert "synthetic.cc:30" in gdb.run("bisect n < 12")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_member_is_watched_beyond_its_function(tmp_path: Path, build: Build, level: str) -> None:
    """GDB itself takes `this` anew in each function, or deletes the watchpoint."""
    source = PROGRAMS / "lost_this.cpp"
    recorded = Recorded(tmp_path, build(source.name, level), source)
    with recorded.gdb() as gdb:
        gdb.run("break Box::fill")
        gdb.run("continue")
        assert gdb.run("rdb-meant watch v > 1").startswith("Hardware watchpoint 2")
        assert "New value = true" in gdb.run("continue")
        assert "exits with code 0" in gdb.run("continue")
        assert "Old value = true" in gdb.run("reverse-continue")
        assert gdb.function() == "Box::fill"
