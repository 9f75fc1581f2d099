"""Predicates over a member of each element: arrays of structures, containers of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import check, decided, stopped
from conftest import PROGRAMS
from gdbdriver import Gdb

WHOLE = {  # of each container of 400, by what stands before the member
    "p[0]@n": "p[{}]",
    "many": "many[{}]",
    "derived": "derived[{}]",
    "queue": "queue[{}]",
    "chain": "chain[{}]",
    "by_key": "by_key[{}]",
}


@pytest.fixture(scope="module")
def cxx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("members")
    with stopped(folder, PROGRAMS / "members.cc", "g++", "-std=c++20") as gdb:
        yield gdb


@pytest.mark.parametrize("name", WHOLE)
def test_members_of_each_element(cxx: Gdb, name: str) -> None:
    check(cxx, {
        f"sum({name}.id)": 399 * 200,
        f"max({name}.pos.y)": 399.5,
        f"count({name}.pos.x - {name}.id == 0.25)": 400,
        f"all({name}.w[1][2] > 11)": 1,
        f"min({name}.pair[1])": -399,
        f"allfinite({name}.pos.z) && sorted({name}.pos.z)": 1,
    })  # fmt: skip
    element = WHOLE[name].format(321)
    assert decided(cxx, f"all({name}.pos.x != 321.25)") == f"['{element}.pos.x = 321.25']"


@pytest.mark.parametrize("name", ["p[0]@n", "many", "derived", "plain"])
def test_arrays_within_each_element(cxx: Gdb, name: str) -> None:
    count = 5 if name == "plain" else 400
    check(cxx, {
        f"count({name}.w >= 0)": 6 * count,
        f"max({name}.w)": 100 * (count - 1) + 12,
        f"max({name}.w[0])": 100 * (count - 1) + 2,
        f"sum({name}.pair)": 0,
    })  # fmt: skip
    element = f"{name.partition('[')[0]}[3].w[1][2]"
    assert decided(cxx, f"all({name}.w != 312)") == f"['{element} = 312']"
    element = f"{name.partition('[')[0]}[3].pair[1]"
    assert decided(cxx, f"all({name}.pair != -3)") == f"['{element} = -3']"


def test_keys_and_complex_numbers(cxx: Gdb) -> None:
    long = '"10 a name that is longer than what lies in the object"'
    element = f"by_name[{long}].id = 10"
    assert decided(cxx, "all(by_name.id != 10)") == repr([element])
    assert decided(cxx, "all(by_name.id != 11)") == "['by_name[\"11\"].id = 11']"
    check(cxx, {"allfinite(waves)": 1, "allfinite(none.pos.x)": 1, "sum(p[390]@10.id)": 3945})
    cxx.run("set var ((double *)waves._M_impl._M_start)[14] = 0.0/0.0")
    assert "waves[7] = " in decided(cxx, "allfinite(waves)")


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("all(many)", "the elements of many are not numbers"),
        ("all(many.bits)", ".bits of many is a bit-field"),
        ("all(many.own)", ".own does not lie in the elements of many themselves"),
        ("all(many.nothing)", "no member or method named nothing"),
        (
            "all(chain.w > 0)",
            ".w, in elements that a container allocates one by one, is not a number",
        ),
        ("all(waves.id)", "no member or method named id"),
        ("all(p.id)", "There is no array in it; for a pointer p"),
        ("all(p[0].nothing)", "no member or method named nothing"),
    ],
)
def test_what_is_no_member_says_so(cxx: Gdb, expression: str, reason: str) -> None:
    assert reason in cxx.fails(f"rdb-number {expression}")


def test_fortran(tmp_path: Path) -> None:
    source = PROGRAMS / "fortran" / "members.f90"
    with stopped(tmp_path, source, "gfortran") as gdb:
        gdb.run("up")
        check(gdb, {
            "sum(parts%id)": 4 + 5 + 6 + 7,
            "max(parts%place%x)": 7.5,
            "max(parts%w)": 723,
            "max(parts(5:6)%w(:, 3))": 623,
            "min(parts(4:7:3)%w(2, 1))": 421,
            "count(grid%ok)": 5,
            "sum(block%parts%id)": 22,
        })  # fmt: skip
        assert decided(gdb, "all(parts%w /= 612)") == "['parts(6)%w(1,2) = 612']"
        assert decided(gdb, "all(parts(5:6)%w(:, 3) < 613)") == "['parts(6)%w(1,3) = 613']"
        assert decided(gdb, "all(grid%ok)") == "['grid(2,0)%ok = .FALSE.']"
