"""bisect: what is false for a moment, between the events at which the search looks first."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded

LINE = "moments.c:14"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    source = PROGRAMS / "moments.c"
    made = Recorded(tmp_path_factory.mktemp("it"), build(source.name, "-O0"), source)
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        # what is found in some seconds depends on what else the machine does
        opened.run("python from rdb_gdb.search import searching; searching.Patience.ended = False")
        yield opened


def test_it_is_found(gdb: Gdb) -> None:
    for expression in ("value < 400", "inner < 400", "early < 400"):
        said = gdb.run(f"bisect {expression}")
        assert f"Changed by {LINE}" in said and "True again at event" in said, said
        assert int(gdb.value("turn")) == 77
        gdb.run("goto end")


def test_the_first_of_several(gdb: Gdb) -> None:
    """Halving finds a later change: the variable is false from turn 100 or 120 on, too."""
    for expression, turn, known in (
        (
            "value < 120",
            77,
            r"at none of the \d+ events from 0 on, at none of 76 changes between them",
        ),
        ("brief == 0", 50, r"at none of the \d+ events from 0 on, at no change between them"),
    ):
        said = gdb.run(f"bisect {expression}")
        assert int(gdb.value("turn")) == turn, said
        assert re.search(rf"^Before this false {known}$", said, re.MULTILINE), said
        gdb.run("goto end")
    late = gdb.run("bisect value < 120 --last")
    assert int(gdb.value("turn")) > 100 and "Before this" not in late, late


def test_it_is_found_although_false_at_first(gdb: Gdb) -> None:
    said = gdb.run("bisect early < 95")
    assert f"Changed by {LINE}" in said, said
    assert "Before it was true: false at the start already" in said
    assert int(gdb.value("turn")) == 77


def test_it_is_found_between_events(gdb: Gdb) -> None:
    for flag, turn in (("", 50), ("--last", 60)):
        said = gdb.run(f"bisect brief + inner - inner < 5 {flag}")
        assert "Changed by moments.c:20" in said and "Was = 1\nNow = 0\n" in said, said
        assert int(gdb.value("turn")) == turn
        gdb.run("goto end")
    assert "changes between" not in gdb.fails("bisect brief < 5 --depth event")


def test_how_many_were_looked_at(gdb: Gdb) -> None:
    gdb.run("goto end")
    last = int(re.findall(r"\d+", gdb.run("when"))[0])
    said = gdb.fails("bisect value < 600")
    assert f"; false at none of the {last + 1} events from 0 on, at none of 150 changes " in said
    said = gdb.fails("bisect value < 600 --from 20 --to 90")
    assert "; false at none of the 71 events from 20 on, at none of " in said


def test_memory_that_is_unmapped_at_the_end(gdb: Gdb) -> None:
    assert "at none of 3 changes between them" in gdb.fails("bisect page[0] < 9")
    gdb.run("goto 20")
    gdb.run("watch page[0] if page[0] > 3")
    assert "Watchpoint" not in gdb.run("continue")


@pytest.mark.slow
def test_one_of_thousands_of_changes(gdb: Gdb, recorded: Recorded) -> None:
    """The values of the only variable tell; of two variables rdb says that it did not look."""
    said = gdb.run("bisect often * 2 < 8000 && often >= 0")
    assert f"Changed by {recorded.at('often')}" in said and "Now = 0" in said, said
    assert int(gdb.value("turn")) == 90
    said = gdb.fails("bisect often < 6000")
    assert re.search(r"at none of 2\d\d\d changes between them", said), said
    said = gdb.fails("bisect often - both < 4500")
    assert "what is between them was not looked at: what it reads changes more than 500 " in said
