"""Expressions as users of each language write them, where GDB has other words, or none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from arrays import check, number
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded, in_console

FORTRAN = "fortran/inherited.f90"


@pytest.fixture(scope="module")
def fortran(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("fortran")
    return Recorded(folder, build(FORTRAN, "-O0", compiler="gfortran"), PROGRAMS / FORTRAN)


@contextmanager
def _in_look(fortran: Recorded) -> Iterator[Gdb]:
    with fortran.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        yield gdb


def test_members_that_a_type_of_fortran_has_from_another(fortran: Recorded) -> None:
    with _in_look(fortran) as gdb:
        check(gdb, {
            "item%n": 3,
            "max(item%val)": 3,
            "global%val(1)": 4,
            "global%middle%base%n": 3,
            "global%inner%n + global%own": 3.5,
        })  # fmt: skip
        assert "= 3" in gdb.run("print item%n")
        gdb.run("up")
        check(gdb, {
            "here%n + here%first": 13,
            "many(2)%n": 7,
            "many(1)%inner%first": 10,
            "view%n": 3,
            "maxval(view%val)": 5,
            "minval(here%val(2:))": 2,
        })  # fmt: skip
        assert "no member named nothing" in gdb.fails("rdb-number here%nothing")


def test_answers_name_members_as_the_program_does(fortran: Recorded) -> None:
    """Without the compiler's component of class(...), and without parents."""
    with fortran.gdb() as gdb:
        found = json.loads(gdb.run("bisect allfinite(view%val) --json"))
        assert [one.partition(" = ")[0] for one in found["elements"]] == ["view%val(2)"]
        found = json.loads(gdb.run("bisect allfinite(global%val) --json"))
        assert [one.partition(" = ")[0] for one in found["elements"]] == ["global%val(2)"]


_FILLED = """
program filled
  use iso_c_binding
  implicit none
  integer(1), target :: bytes(4096) = 0
  interface
    type(c_ptr) function memset(at, to, size) bind(c)
      import c_ptr, c_int, c_size_t
      type(c_ptr), value :: at
      integer(c_int), value :: to
      integer(c_size_t), value :: size
    end function
  end interface
  type(c_ptr) :: same
  same = memset(c_loc(bytes), 7, 4096_c_size_t)
  print *, bytes(1)
end program
"""


def test_values_are_written_as_in_the_programs_language(tmp_path: Path, build: Build) -> None:
    """Also where a library of C makes the change."""
    source = tmp_path / "filled.f90"
    source.write_text(_FILLED)
    with Recorded(tmp_path, build(source, "-O0"), source).gdb() as gdb:
        found = json.loads(gdb.run("bisect all(bytes == 0) --json"))
    assert (found["before"], found["after"]) == (".TRUE.", ".FALSE.")
    assert "memset" in found["stack"][0]


def test_operators_and_functions_in_fortran(fortran: Recorded) -> None:
    with _in_look(fortran) as gdb:
        gdb.run("up")
        check(gdb, {
            "!(i > 1) && i != 3": 1,
            "i == 2 || !(i < 2)": 0,
            "isnan(maxval_of)": 1,
            "ieee_is_finite(maxval_of)": 0,
            ".not. ieee_is_nan(none)": 1,
            "sqrt(here%val(1) + 8)": 3,
        })  # fmt: skip
    with fortran.gdb() as gdb:
        found = json.loads(gdb.run("bisect !isnan(maxval(abs(global%val))) --json"))
        assert found["written_by"] == fortran.at("nan")
        found = json.loads(gdb.run("find-event --next --json !allfinite(global%val)"))
        assert found["count"] == 1


@pytest.mark.parametrize("function", ["look", "kinds::look"])
def test_a_procedure_with_and_without_its_module(fortran: Recorded, function: str) -> None:
    with fortran.gdb() as gdb:
        found = json.loads(gdb.run(f"bisect {function}::mine < 1 --json"))
        assert found["written_by"] == fortran.at("mine")
        assert f"{function}::mine in kinds::look" in found["variables"]


def test_texts_in_fortran(fortran: Recorded) -> None:
    """Blanks at the end do not count."""
    with _in_look(fortran) as gdb:
        check(gdb, {
            "global%label == 'first'": 1,
            "'first  ' == global%label": 1,
            "global%label /= 'firs' .and. global%n == 3": 1,
            'global%label .eq. "second"': 0,
        })  # fmt: skip


def test_origin_reads_registers_in_fortran(fortran: Recorded) -> None:
    said = in_console(fortran.home, "job", ["origin global%val(2)"])[0]
    assert re.search(rf"MAIN__ \(\) at {fortran.at('made')} +computed", said), said
    assert "copied" in said, said


CXX = r"""
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>
namespace outer {
struct Shape {
	double area = 0;
	std::vector<std::vector<int>> apart;
	std::array<float, 3> near{};
	std::string name = "cube";
	double grow(int by)
	{
		double more = by * 0.5; /* @more */
		area += more; /* @area */
		return area;
	}
};
}
static outer::Shape *shared;
static double sum = -4, all = 9, values[3] = {1, 2, 3};
enum answer { no, yes };
static answer known = no;
static int done;
static char label[20] = "three";
static const char *said = "three";
static std::string_view view = "a view";
int main()
{
	outer::Shape shape;
	double max = 2, nan = std::sqrt(sum), count = 0;
	shape.apart = {{1, 2}, {3}};
	getppid();
	for (int i = 0; i < 6; i++) {
		done = i >= 3; /* @done */
		known = i == 5 ? yes : no;
		if (i == 2)
			shared = &shape;
		if (i == 4) {
			shape.name += "s";          /* @string */
			std::strcpy(label, "four"); /* @array */
			said = "four";              /* @pointer */
		}
		max += shape.grow(i);
		getppid();
	}
	return view.size() == 1 || all + values[0] < max && nan < count;
}
"""


@pytest.fixture(scope="module")
def cxx(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[tuple[Gdb, Recorded]]:
    folder = tmp_path_factory.mktemp("cxx")
    source = folder / "written.cc"
    source.write_text(CXX)
    recorded = Recorded(folder, build(source, "-O0", compiler="g++"), source)
    with recorded.gdb() as gdb:
        yield gdb, recorded


def before_grow(gdb: Gdb) -> None:
    """Goes to main, where it calls grow the last time."""
    gdb.run("goto END")
    gdb.run("break grow")
    gdb.run("reverse-continue")
    gdb.run("up")
    gdb.run("delete")


def test_functions_of_one_number(cxx: tuple[Gdb, Recorded]) -> None:
    gdb, _ = cxx
    before_grow(gdb)
    check(gdb, {
        "std::isnan(nan) && !isfinite(nan)": 1,
        "std::isinf(nan) || isnan(max)": 0,
        "fabs(sum) + std::abs(sum)": 8,
        "std::abs(shape.near[1])": 0,
        "sqrt(values[0] + 3)": 2,
    })  # fmt: skip
    assert math.isnan(number(gdb, "std::sqrt(sum)"))


def test_a_number_that_is_called_as_a_predicate_is(cxx: tuple[Gdb, Recorded]) -> None:
    gdb, _ = cxx
    before_grow(gdb)
    check(gdb, {
        "sum(values)": 6,
        "all(values > 0)": 1,
        "max(values) + max": 3 + number(gdb, "max"),
        "count(values > 1) + all": 11,
    })  # fmt: skip


def test_what_is_not_decided_by_one_side(cxx: tuple[Gdb, Recorded]) -> None:
    """GDB calls no function on the other side, and needs the types there."""
    gdb, recorded = cxx
    gdb.run("goto END")
    for asked, place in (
        ("!done || shared->area < 0", "done"),
        ("!shared || shared->area < 3.5", "area"),
    ):
        found = json.loads(gdb.run(f"bisect {asked} --json"))
        assert found["written_by"] == recorded.at(place), asked
    for asked in ("!shared || shared->area >= 0", "!shared || !done || shared->near.size() == 3"):
        assert "still true at the end" in gdb.fails(f"bisect {asked}"), asked


@pytest.mark.parametrize("function", ["grow", "Shape::grow", "outer::Shape::grow"])
def test_a_member_function_by_the_end_of_its_name(cxx: tuple[Gdb, Recorded], function: str) -> None:
    gdb, recorded = cxx
    found = json.loads(gdb.run(f"bisect {function}::more < 2 --json"))
    assert found["written_by"] == recorded.at("more")


def test_texts(cxx: tuple[Gdb, Recorded]) -> None:
    """What is in them is compared, and nothing is called in the program."""
    gdb, recorded = cxx
    for asked, place in (
        ('label == "three"', "array"),
        ('"three" == said', "pointer"),
        ('said != "four" && done < 2', "pointer"),
        ('shape.name == "cube"', "string"),
    ):
        found = json.loads(gdb.run(f"bisect {asked} --json"))
        assert any(line.endswith(recorded.at(place)) for line in found["stack"]), asked
    check(gdb, {'view == "a view"': 1, 'view == "a"': 0, 'label != "three"': 0})
    assert "is not a string" in gdb.fails('rdb-number done == "three"')


def test_a_function_that_does_not_come_back(cxx: tuple[Gdb, Recorded]) -> None:
    gdb, _ = cxx
    gdb.run("goto start")
    said = gdb.run("bisect shared->grow(0) < 3.5 --json")
    found = json.loads(said.splitlines()[-1])
    assert "grow(int) was ended by a signal when it was called" in found["why_undefined"]
    assert "\n" not in found["why_undefined"]


def test_an_enumerator_is_no_variable(cxx: tuple[Gdb, Recorded]) -> None:
    gdb, _ = cxx
    found = json.loads(gdb.run("bisect done < yes --json"))
    assert re.fullmatch(r"done, written\.cc:\d+", found["variables"])


def test_elements_that_are_no_numbers(cxx: tuple[Gdb, Recorded]) -> None:
    gdb, _ = cxx
    assert "not numbers" in gdb.fails("bisect allfinite(shape.apart)")
