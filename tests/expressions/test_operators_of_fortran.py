"""The order of Fortran's operators, where GDB has another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from arrays import check
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded

SOURCE = "fortran/operators.f90"
WANTED = {
    "-a%n": -3,
    "2 - -a%n": 5,
    "-a%v(2)": -2,
    ".not. a%flag": 0,
    ".not. a%n == 4": 1,
    ".not. i == 1 .and. .not. i == 2": 1,
    ".not. i == 3 .or. i == 3": 1,
    "(.not. i == 4) .and. i == 3": 1,
    "-i**2": -9,
    "10 - i**2": 1,
    "-a%n**2 < 0": 1,
    "-2*i": -6,
    "i == 3 .eqv. a%n == 3": 1,
    "i == 3 .neqv. .not. a%n == 3": 1,
    "i > 2.and.a%n < 4.and.i /= 5": 1,
    "all(.not. a%v > 3.and.a%v > 0.5)": 1,
    "any(.not. a%v > 1 .and. a%v > 2)": 0,
    "count(.not. a%v == 2)": 2,
    "max(-a%v)": -1,
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("operators")
    return Recorded(folder, build(SOURCE, compiler="gfortran"), PROGRAMS / SOURCE)


@pytest.fixture
def gdb(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        yield opened


def test_values(gdb: Gdb, recorded: Recorded) -> None:
    said = recorded.done.stdout.splitlines()  # the program itself prints the same numbers
    assert list(map(int, said[0].split())) == list(WANTED.values())
    gdb.run(f"break {recorded.at('here')}")
    gdb.run("continue")
    check(gdb, WANTED)
    assert gdb.run("rdb-meant print &a%n").split()[-1] == gdb.run("print &(a%n)").split()[-1]


def test_a_search_and_a_condition(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("bisect .not. a%n == 4")
    gdb.expect_at(recorded.at("made"))
    gdb.run(f"rdb-meant break {recorded.at('here')} if -a%n < -4 .eqv. .not. i < 5")
    gdb.run("goto start")
    gdb.run("continue")
    check(gdb, {"i": 3})
