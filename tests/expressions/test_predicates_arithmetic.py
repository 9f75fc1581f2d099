"""What is computed with elements, as the program's language computes it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import check, decided, stopped
from conftest import PROGRAMS, run_rdb
from gdbdriver import Gdb

FORTRAN = PROGRAMS / "fortran" / "arithmetic.f90"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fortran")


@pytest.fixture(scope="module")
def fortran(folder: Path) -> Iterator[Gdb]:
    with stopped(folder, FORTRAN, "gfortran") as gdb:
        gdb.run("up 2")
        yield gdb


@pytest.fixture(scope="module")
def cxx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("cxx")
    with stopped(folder, PROGRAMS / "arithmetic.cc", "g++") as gdb:
        gdb.run("up")
        yield gdb


def test_operators_and_functions_of_fortran(fortran: Gdb) -> None:
    check(fortran, {
        "sum(u**2)": 650,
        "sum(-u**2)": -650,
        "sum(2**k(1:4))": 30,
        "sum(k**2/2)": 0 + 2 + 4 + 8 + 12,
        "sum(k/2)": 1 + 1 + 2 - 2,
        "sum(real(k)/2)": 2.5,
        "sum(mod(k, 3))": 1 + 2 + 0 + 1 - 2,
        "sum(modulo(k, 3))": 1 + 2 + 0 + 1 + 1,
        "MAXVAL(SQRT(U))": math.sqrt(12),
        "product(v)": -294,
        "count(m .eqv. m(1))": 2,
        "any(ieee_is_nan(u))": 0,
    })  # fmt: skip


def test_masks_and_dimensions_of_fortran(fortran: Gdb) -> None:
    """Fortran 2018, 16.9: the elements for which the mask is true count."""
    check(fortran, {
        "sum(u, mask=u > 6)": 57,
        "SUM(u, u > 6)": 57,
        "product(k, mask=k > 1)": 24,
        "maxval(v, mask=v < 5)": 3,
        "minval(v, v > 0)": 2,
        "minval(v, 1, mask = v > 0)": 2,
        "maxval(v, dim=1) + maxval(array=v)": 14,
        "maxloc(v, dim=1)": 3,
        "maxloc(v, dim=1, mask=v < 5)": 4,
        "minloc(k, mask=mod(k, 2) == 0)": 2,
        "maxloc(v, mask=v > 100)": 0,
        "maxval(v, mask=v > 100)": -math.inf,
        "sum(k, mask=m(1))": 5,
        "count(m, dim=1)": 2,
        "any(m(1:2), dim=1)": 1,
        "count(mask=v > 2)": 3,
    })  # fmt: skip
    assert decided(fortran, "maxval(k, mask=k < 4) < 3") == "['k(3) = 3']"
    assert "is an array" in fortran.fails("rdb-number sum(u, dim=1)")
    assert "no mask" in fortran.fails("rdb-number sum(v, mask=k)")
    assert "different shapes" in fortran.fails("rdb-number sum(u, mask=v > 0)")
    assert "back=" in fortran.fails("rdb-number maxloc(v, back=.true.)")


def test_masks_pass_over_what_is_not_a_number(fortran: Gdb) -> None:
    fortran.run("set var v(0) = 0.0 / 0.0")
    check(fortran, {"maxval(v, mask=.not. isnan(v))": 7, "sum(v, mask=v == v)": 19})
    fortran.run("undo")
    fortran.run("up 2")


def test_places_of_extremes(fortran: Gdb, cxx: Gdb) -> None:
    """Fortran counts them from 1, whatever the bounds are."""
    check(fortran, {"maxloc(v)": 3, "minloc(v)": 2, "maxloc(none)": 0})
    assert fortran.run("print maxloc(u)").endswith("= (3, 4)\n")
    assert fortran.run("print minloc(u)").endswith("= (1, 1)\n")
    check(cxx, {"maxloc(v) == 2 && max(v) == 4": 1, "argmax(table)": 4, "argmin(k)": 4})
    assert cxx.run("print maxloc(table)").endswith("= {1, 0}\n")
    assert decided(cxx, "argmin(k)") == "['k[4] = -7']"


def test_of_no_elements(fortran: Gdb, cxx: Gdb) -> None:
    check(fortran, {"sum(none)": 0, "product(none)": 1, "maxval(none)": -math.inf})
    check(cxx, {"max(none) < 3": 1, "min(none) > 3": 1, "all(none > 0)": 1})


def test_an_array_named_like_a_predicate(fortran: Gdb) -> None:
    check(fortran, {
        "all(2)": 0,
        "all(3)": 1,
        "all(all)": 0,
        "all(all .or. m)": 1,
        "all(k < 5)": 1,
        "count(all .neqv. m)": 2,
    })  # fmt: skip


def test_complex_elements(fortran: Gdb, cxx: Gdb) -> None:
    check(fortran, {
        "maxval(abs(z))": 5,
        "maxval(abs(z - w))": 9,
        "sum(real(z*z))": -3 - 7 - 1,
        "sum(z%im)": -1,
        "sum(waves%c%im)": 20,
        "sum(waves%re)": 10,
        "count(z == w)": 2,
        "any(z /= w)": 1,
        "allfinite(waves%c)": 1,
    })  # fmt: skip
    assert decided(fortran, "all(z == w)") == "['z(2) = (3,-4)', 'w(2) = (3,5)']"
    assert "The elements of z are complex: write abs(z)" in fortran.fails("rdb-number sum(z)")
    check(cxx, {"max(abs(z))": 5, "max(std::abs(z))": 5, "sum(cimag(z))": -2})


def test_operators_of_c(cxx: Gdb) -> None:
    check(cxx, {
        "sum(k / 2)": 1 + 1 + 2 - 3,
        "sum(k % 4)": 1 + 2 + 3 + 0 - 3,
        "sum(v / 2)": 2.75,
        "count((flags & 1) == 1)": 4,
        "count(flags & 2 == 2)": 4,
        "sum(flags ^ 1)": 0 + 2 + 4 + 254,
        "max(big & 7)": 7,
        "max(pow(v, 2))": 16,
        "sum(big)": float(2**63 + 3 + 2**64 - 1),
        "product(bits)": 0,
        "argmin(bits)": 1,
        "all(0 < v < 1)": 0,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("all(u > maxval(v))", "A predicate cannot stand in another one: maxval(v)"),
        ("maxval(u, dim=1)", "maxval with dim= of an array of several dimensions is an array"),
        ("all(0 < u < 3)", "Comparisons cannot be chained"),
        ("checksum(u + u)", "checksum takes an array"),
    ],
)
def test_what_cannot_be_computed_says_so(fortran: Gdb, expression: str, reason: str) -> None:
    assert reason in fortran.fails(f"rdb-number {expression}")


def test_searches(fortran: Gdb, folder: Path) -> None:
    """u(1,2), 5 at first, is multiplied by 1, 2, 3, 4, 5."""

    def rdb(*words: str) -> str:
        return run_rdb(folder / "rdb-home", folder, *words).stdout

    said = rdb("bisect", "job", "MAXVAL(main::u**2) < 1000")
    assert "arithmetic.f90:16 in numbers::step" in said
    said = rdb("bisect", "job", "maxloc(u(:, 2)) == 3")
    assert re.search(r"after  \.FALSE\.", said) and "arithmetic.f90:16" in said
    said = rdb("bisect", "job", "maxval(u, mask=u < 100) < 20")
    assert "arithmetic.f90:16 in numbers::step" in said
