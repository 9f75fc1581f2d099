"""bisect: what is false for a moment, between the events at which the search looks first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, Rdb
from gdbdriver import Gdb

LINE = "moments.c:12"


@pytest.fixture
def gdb(rdb: Rdb, build: Build, rdb_home: Path) -> Iterator[Gdb]:
    done = rdb("run", "--name", "it", "--", build("moments.c", "-O0"))
    assert done.returncode == 0, done.stderr
    with Gdb("it", home=rdb_home) as opened:
        yield opened


def test_it_is_found(gdb: Gdb) -> None:
    for expression in ("value < 400", "inner < 400", "early < 400"):
        said = gdb.run(f"bisect {expression}")
        assert f"Changed by {LINE}" in said and "True again at event" in said, said
        assert int(gdb.value("turn")) == 77
        gdb.run("goto end")


def test_it_is_found_although_false_at_first(gdb: Gdb) -> None:
    said = gdb.run("bisect early < 95")
    assert f"Changed by {LINE}" in said, said
    assert "Before it was true: false at the start already" in said
    assert int(gdb.value("turn")) == 77


def test_how_many_were_looked_at(gdb: Gdb) -> None:
    gdb.run("goto end")
    last = int(re.findall(r"\d+", gdb.run("when"))[0])
    said = gdb.fails("bisect value < 600")
    assert f"; false at none of the {last + 1} events from 0 on (value" in said
    said = gdb.fails("bisect value < 600 --from 20 --to 90")
    assert "; false at none of the 71 events from 20 on (value" in said
