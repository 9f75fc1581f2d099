"""bisect: what turns false while the function of the local that leads to it does not run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, GdbError, Recorded

C, CXX, FORTRAN = "between_calls.c", "between_calls.cc", "fortran/between_calls.f90"
COMPILERS = {C: "gcc", CXX: "g++", FORTRAN: "gfortran"}
Made = Callable[[str, str], Recorded]
"""By name and level."""
OPEN = "nothing says here where"
FOUND = [
    (C, "g->rows[1][2].kind == 0", "/* wrong */"),
    (C, "exchange::g->rows[1][1].value < 9", "h->rows[1][1].value = h->turn;"),
    (C, "min(exchange::g->rows[1][0]@4 .kind) == 0", "/* wrong */"),
    (CXX, "mine[5] < 5", "// wrong"),
    (CXX, "all(mine < 5)", "// wrong"),
    (CXX, "limits.high > 0", "// too low"),
    (CXX, "box_.high > 0", "// too low"),
    (FORTRAN, "w(3) > 0", "! wrong"),
    (FORTRAN, "all(exchange::w(1)@10 > 0)", "! wrong"),
    (FORTRAN, "all(exchange::f%u > 0)", "! too low"),
    (FORTRAN, "exchange::f%peak < 50", "! too high"),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Made:
    @cache
    def made(name: str, level: str) -> Recorded:
        compiler = COMPILERS[name]
        flags = [level] if compiler != "gfortran" else [level, "-fno-inline"]
        program = build(name, *flags, compiler=compiler)
        one = Recorded(tmp_path_factory.mktemp("it"), program, PROGRAMS / name)
        assert one.done.returncode == 0, one.done.stderr
        return one

    return made


def found(gdb: Gdb, expression: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(gdb.run(f"bisect {expression} --json"))
    return answer


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", COMPILERS)
def test_the_statement_is_found(recorded: Made, name: str, level: str) -> None:
    with recorded(name, level).gdb() as gdb:
        for of, expression, marked in FOUND:
            if of != name:
                continue
            answer = found(gdb, expression)
            lines = (PROGRAMS / name).read_text().splitlines()
            assert answer.get("line") and marked in lines[answer["line"] - 1], (expression, answer)
            assert not answer["gap"] and answer["before_true"] and answer["after_false"]
            text = "runs" if expression.startswith("box_") else "while that does not run, "
            assert text in answer["variables"], answer["variables"]
            gdb.run("goto end")


def test_a_local_that_is_another_one_then_is_not_followed(recorded: Made) -> None:
    """`turn` has another value in each call: no store between two calls makes it so.  `lead` is
    the same, but the array is another one in each call; `hint` is in an inlined function."""
    with recorded(C, "-O0").gdb() as gdb:
        for expression in ("exchange::turn < 9", "lead[0] < 9"):
            answer = found(gdb, expression)
            assert "while" not in answer["variables"], answer
            assert answer["function"] == "exchange", answer
            gdb.run("goto end")
        answer = found(gdb, "hint[0] < 9")
        assert answer["function"] == "beside" and "while" not in answer["variables"], answer
        assert not answer["gap"], answer


def test_arguments_that_are_not_stored_yet_have_no_value(recorded: Made) -> None:
    """What the last call left at their place is not what they are."""
    with recorded(C, "-O0").gdb() as gdb:
        gdb.run("break *exchange")
        gdb.run("continue")
        gdb.run("continue")
        gdb.run("python import rdb_gdb.search.evaluate as e; j = e.Judge('g->turn < 9')")
        gdb.run("next")
        said = gdb.run("python j.bind(0, 0, None); print(j.verdict())")
        assert "good" in said, said
        gdb.run("reverse-continue")
        said = gdb.run("python print(j.verdict())")
        assert "undefined" in said and "not stored yet" in said, said


def test_an_array_without_a_known_end_has_no_elements_to_judge(recorded: Made) -> None:
    """GDB has a number for the bound."""
    with recorded(C, "-O2").gdb() as gdb:
        gdb.run("break between_calls.c:22")
        gdb.run("continue")
        for text in ("all(g->edge > 0)", "max(g->edge)", "sum(g->edge)"):
            with pytest.raises(GdbError, match=OPEN):
                gdb.run(f"print {text}")
        assert gdb.run("print max(g->edge[0]@4)").startswith("$")


_SIZES = """
module sizes
contains
  subroutine look(a, b, c, n)
    integer, intent(in) :: n
    real(8), intent(in) :: a(*), b(2, *), c(0:n)
    real(8), allocatable :: empty(:)
    allocate(empty(n - 5))
    print *, a(1) + b(1, 2) + c(2), size(empty)
  end subroutine
end module
program main
  use sizes
  real(8) :: v(6) = [1, 2, 3, 4, 5, -6]
  call look(v, v, v, 5)
end program
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_dummy_arrays_without_an_end(level: str, tmp_path: Path, build: Build) -> None:
    """Of an assumed size, or one that is optimized out; what has an end is judged whole."""
    source = tmp_path / "sizes.f90"
    source.write_text(_SIZES)
    program = build(source, level, "-fno-inline", compiler="gfortran")
    with Recorded(tmp_path, program, source).gdb() as gdb:
        gdb.run("break sizes.f90:9")
        gdb.run("continue")
        for name in ("a", "b"):
            for text in (f"all({name} > 0)", f"minval({name})", f"sum({name})"):
                with pytest.raises(GdbError, match=f"{OPEN}|optimized out"):
                    gdb.run(f"print {text}")
        assert gdb.run("print minval(a(1)@6)").endswith("= -6\n")
        assert level == "-O2" or gdb.run("print all(empty > 0)").endswith("= .TRUE.\n")
        try:
            assert gdb.run("print minval(c)").endswith("= -6\n")
        except GdbError as error:
            assert level == "-O2" and re.search(f"{OPEN}|optimized out", str(error))


def test_a_descriptor_is_not_the_object(tmp_path: Path, build: Build) -> None:
    """Object 1 is seen true, object 2 false: the call between them has not changed either."""
    program = build("fortran/between_calls_class.f90", "-O0", compiler="gfortran")
    source = PROGRAMS / "fortran" / "between_calls_class.f90"
    lines = source.read_text().splitlines()
    with Recorded(tmp_path, program, source).gdb() as gdb:
        answer = found(gdb, "all(exchange::f%u > -1)")
        assert answer["gap"], answer
        answer = found(gdb, "all(look::one%u > -1)")
        wrong = [number for number, line in enumerate(lines, 1) if "! wrong" in line]
        assert not answer["gap"] and answer["line"] == wrong[0], answer
        assert "events from" in answer["before_it"], answer


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_member_changes_before_its_function_returns(
    tmp_path: Path, build: Build, level: str
) -> None:
    """No event follows in the function, but memory after it tells that there is a change."""
    source = PROGRAMS / "member_last.cc"
    with Recorded(tmp_path, build(source.name, level), source).gdb() as gdb:
        answer = found(gdb, "min(rest_) >= 0")
        lines = source.read_text().splitlines()
        assert "// wrong" in lines[answer["line"] - 1] and not answer["gap"], answer
        assert answer["before_true"] and answer["after_false"], answer
