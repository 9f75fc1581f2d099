"""Members that only the type of an object has, and not the class(...) variable of Fortran."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import check
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded, in_console

SOURCE = "fortran/dynamic.f90"


@pytest.fixture(scope="module", params=["-O0", "-O1"])
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, build: Build
) -> Recorded:
    folder = tmp_path_factory.mktemp("dynamic")
    return Recorded(folder, build(SOURCE, request.param, compiler="gfortran"), PROGRAMS / SOURCE)


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        yield opened


def test_values(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("break spin")
    gdb.run("continue")
    check(gdb, {
        "b(2)%f%c": 2,
        "b(2)%f%id + b(1)%f%id": 8,
        "sum(b(2)%f%w)": 6,
        "b(2)%f%w(3)": 3,
        "b(2)%f%hub%c": 2,
        "any_one%c": 2,
        "any_one%hub%id": 1,
    })  # fmt: skip
    assert "no member named w in ring" in gdb.fails("rdb-number b(1)%f%w")
    assert "b(3)%f is not allocated" in gdb.fails("rdb-number b(3)%f%c")


def test_searches(gdb: Gdb, recorded: Recorded) -> None:
    bad = recorded.at("bad")
    found = json.loads(gdb.run("bisect b(2)%f%c > 0 --json"))
    assert bad.endswith(f":{found['line']}") and (found["before"], found["after"]) == (
        ".TRUE.",
        ".FALSE.",
    )
    assert [length for _, length in found["operands"]] == [8]
    gdb.run("break spin if step == 8")
    gdb.run("continue")
    gdb.run("last b(2)%f%c")
    gdb.expect_at(bad)
    gdb.run("continue")
    gdb.run("rdb-meant watch b(2)%f%c")
    gdb.run("reverse-continue")
    gdb.expect_at(bad)


def test_names_that_are_words_of_gdb(gdb: Gdb, recorded: Recorded) -> None:
    """Of variables, of components, and of the type that a component is inherited from."""
    gdb.run("rdb-meant break roll if one%rank == 3 .and. size(2) > 5")
    gdb.run("continue")
    gdb.run("next")
    check(gdb, {"one%id": 7, "one%Rank": 13, "size(1) + one%rank * 2": 31, "max(size)": 6})
    gdb.run("up")
    check(gdb, {"rank": 4, "-rank + size(1)": 1, "b(2)%f%rank": 13, "(rank + 1) * 2": 10})
    assert "= 4" in gdb.run("rdb-meant print rank")
    gdb.run("rdb-meant watch rank")
    assert "New value = 9" in gdb.run("continue")
    found = json.loads(gdb.run("bisect rank < 30 --json"))
    assert found["before"] == ".TRUE." and found["bound"].startswith("rank, "), found
    for first in ("b(2)%f%rank > 0", "b(1)%f%c > 0", "sum(buffer) > 0"):
        gdb.run("goto end")
        found = json.loads(gdb.run(f"bisect {first} .and. buffer(2) < 5 --json"))
        assert recorded.at("filled").endswith(f":{found['line']}"), found
    gdb.run("last b(2)%f%rank")
    gdb.expect_at(recorded.at("roll"))


def test_in_the_console(recorded: Recorded) -> None:
    lines = ["break spin if step == 8", "reverse-continue", "print b(2)%f%c", "print b(1)%f%w",
             "find-event b(2)%f%c > 0 --count"]  # fmt: skip
    _, _, value, missing, count = in_console(recorded.home, "job", lines)
    assert "= -2" in value and "no member named w in ring" in missing and "4 events" in count


def test_arrays_of_class(tmp_path: Path, build: Build) -> None:
    source = PROGRAMS / "fortran" / "class_arrays.f90"
    program = build("fortran/class_arrays.f90", "-O0", compiler="gfortran")
    recorded = Recorded(tmp_path, program, source)
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        gdb.run("up")
        check(gdb, {
            "xs(2)%id": 102,
            "xs(2)%radius": 3,
            "xs(2)%note == 'n2'": 1,
            "grid(1, 2)%id": 4,
            "rs(2)%id + rs(3)%w": 10,
            "b%items(2)%id": 2,
            "b%items(3)%note == 'n3'": 1,
            "sum(xs%id)": 110,
            "sum(xs%radius)": 15,
            "max(rs%id)": 9,
            "sum(rs%w) + sum(rs%radius)": 9,
            "sum(b%items%radius)": 9,
        })  # fmt: skip
        assert gdb.run("print b%items(2)%note").endswith("= 'n2'\n")
        gdb.run("rdb-meant set var xs(1)%radius = xs(2)%radius + 1")
        gdb.run("rdb-meant set var real = real * 3")
        check(gdb, {"xs(1)%radius": 4, "real": 6})
        gdb.run("undo 2")
        gdb.run("continue")
        gdb.run("up")
        check(gdb, {"xs(2)%id": 103, "xs(2)%radius": 4.5, "sum(xs%id)": 104})
        assert "do not lie side by side" in gdb.fails("rdb-number sum(xs%radius)")
        gdb.run("continue")
        gdb.run("up")
        check(gdb, {"sum(xs%radius)": 7, "sum(xs%w)": 4})
        assert "no member named none in disc" in gdb.fails("rdb-number sum(xs%none)")
        found = json.loads(gdb.run("bisect xs(2)%id < 90 --json"))
        assert recorded.at("changed").endswith(f":{found['line']}")
