"""std::unique_ptr and std::shared_ptr are the pointers in them, in memory and in registers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import pytest
from arrays import check, decided, number
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, GdbError, Recorded

SOURCE = PROGRAMS / "smart_pointers.cc"
BUILDS = [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O0"), ("g++", "-O2 -static-libstdc++")]
BUILDS.append(("clang++", "-O2"))


@pytest.fixture(scope="module", params=BUILDS, ids=" ".join)
def gdb(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, build: Build
) -> Iterator[Gdb]:
    """In run(), which has called look()."""
    compiler, flags = request.param
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    program = build(SOURCE, *flags.split(), "-std=c++17", compiler=compiler)
    with Recorded(tmp_path_factory.mktemp("smart"), program, SOURCE).gdb() as opened:
        opened.run("break look")
        opened.run("continue")
        opened.run("delete")
        opened.run("frame function run")
        if "optimized out" in opened.run("print own"):
            pytest.skip(f"{compiler} {flags} keeps nothing of it")
        yield opened


def test_numbers(gdb: Gdb) -> None:
    check(gdb, {
        "own->id": 4,
        "(*own).id + 1": 5,
        "own.get() != 0 && own->id == 4": 1,
        "own->next->id": 9,
        "own->next->id - own->id": 5,
        "*own->last + 1": 8,
        "own->last < 8": 1,
        "!own->next": 0,
        "own && own->id == 4": 1,
        "sizeof(own)": 8,
    })  # fmt: skip


def check_if_there(gdb: Gdb, name: str, cases: dict[str, float]) -> None:
    """What the optimizer has dropped, and nothing else, is said to be so."""
    shown = gdb.run(f"print {name}")
    for expression, value in cases.items():
        try:
            assert number(gdb, expression) == value
        except GdbError as error:
            assert "optimized out" in str(error) and "optimized out" in shown


def test_one_with_a_deleter_and_an_empty_one(gdb: Gdb) -> None:
    check_if_there(gdb, "kept", {"kept->id": 6})
    check_if_there(gdb, "empty", {"!empty": 1, "empty.get() == 0": 1})
    assert json.loads(gdb.run("rdb-number own->next"))[1] is None


def test_whether_it_points_at_something(gdb: Gdb) -> None:
    here = gdb.state()["position"]
    assert json.loads(gdb.run("bisect own->next --json"))["before_true"]
    assert gdb.state()["position"] != here
    gdb.run(f"goto {here}")
    gdb.run("frame function run")


def test_a_shared_one(gdb: Gdb) -> None:
    cases = {"shared->id": 5, "(*shared).id": 5, "count(shared->values == 0.5)": 20}
    check_if_there(gdb, "shared", cases)


def test_arrays(gdb: Gdb) -> None:
    check(gdb, {
        "sum(own->values)": 21.5,
        "max(own->next->values)": 2,
        "all(own->values > 0)": 0,
    })  # fmt: skip
    assert decided(gdb, "all(own->values > 0)") == "['own->values[3] = -1']"


def test_printed(gdb: Gdb) -> None:
    assert "(Cell *) 0x" in gdb.run("print own.get()")
    assert re.search(r"= 7\b", gdb.run("print own->last"))
    assert "id = 4, values = " in gdb.run("print *own")
