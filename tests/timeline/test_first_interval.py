"""`bisect` of what turns false between the two events between which it gets its first value."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded

# A local, a global, and what has a value as soon as memory is allocated, but never a good one.
EXPRESSIONS = {
    "first_interval.c": ("sort::a[2] < 10 - sort::a[0]", "keys[4] > 0", "fill::cells[0] < 0"),
    "first_interval_fortran.f90": ("sort::a(3) < 10", "keys(5) > 0", "fill::cells(1) < 0"),
}


@pytest.fixture(scope="module", params=[(s, o) for s in EXPRESSIONS for o in ("-O0", "-O2")])
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, build: Build
) -> Iterator[tuple[Gdb, Recorded]]:
    source, level = request.param
    made = Recorded(tmp_path_factory.mktemp("first"), build(source, level), PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    with made.gdb() as gdb:
        yield gdb, made


def test_the_statement_is_found(opened: tuple[Gdb, Recorded]) -> None:
    gdb, recorded = opened
    local, of_all, never = EXPRESSIONS[recorded.source.name]
    for asked, place in ((local, "local"), (of_all, "global"), (f"--last {of_all}", "global")):
        found = json.loads(gdb.run(f"bisect {asked} --json"))
        assert found["written_by"] == recorded.at(place), asked
        assert found["before_true"] and found["after_false"] and not found["gap"]
    said = gdb.fails(f"bisect {never}")
    assert said.startswith(f"false from its first value on, at {recorded.at('given')}"), said
    assert "false where it first has a value (event " in said
