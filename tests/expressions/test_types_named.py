"""Variables of Fortran with names of types, which GDB looks for first."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from arrays import check
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded

SOURCE = "fortran/types_named.f90"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("types_named")
    return Recorded(folder, build(SOURCE, compiler="gfortran"), PROGRAMS / SOURCE)


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        yield opened


def test_values(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('called')}")
    gdb.run("continue")
    check(gdb, {
        "list%list(2)": 10,
        "list%node*2": 6,
        "sum(list%list)": 11,
        "node(2)": 4,
        "min(node)": 4,
        "color": 1,
        "sizeof(list)": 12,
        "list%node == 3.and.node(1) > 4": 1,
    })  # fmt: skip
    assert "Type state" in gdb.run("rdb-meant whatis list")
    assert gdb.run("rdb-meant output node(2)") == "4"
    gdb.run(f"tbreak {recorded.at('inner')}")
    gdb.run("continue")
    gdb.run("next")
    check(gdb, {"state": 4, "list%list(1)": 1, "node(3)": 5})
    gdb.run("goto start")
    assert '"list" in current context: list is a local of' in gdb.fails("rdb-meant print list%node")


def test_searches(gdb: Gdb, recorded: Recorded) -> None:
    found = json.loads(gdb.run("bisect node(2) > 1 --json"))
    assert recorded.at("stored").endswith(f":{found['line']}")
    gdb.run("goto start")
    gdb.run(f"rdb-meant break {recorded.at('called')} if node(2) < 3")
    gdb.run("continue")
    check(gdb, {"step": 3})
    gdb.run("rdb-meant watch node(2)")
    gdb.run("continue")
    check(gdb, {"node(2)": 1})
    gdb.run("last node(2)")
    gdb.expect_at(recorded.at("stored"))
