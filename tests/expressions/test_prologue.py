"""A function that is just beginning has not stored its arguments yet: the commands say so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Build
from gdbdriver import GdbError, Recorded

_D = """
import core.sys.posix.unistd;
extern (C) void scale(double[] a, int by)
{
    foreach (ref x; a)
        x *= by;
}
void main()
{
    scale([1.0, 2.0, 3.0], 2);
    getppid();
}
"""
_C = """
#include <unistd.h>
static int total;
__attribute__((noipa)) void scale(double (*a)[3], int by)
{
	(*a)[1] *= by + total;
}
int main(void)
{
	double a[] = {1, 2, 3};
	scale(&a, 2);
	getppid();
	return 0;
}
"""
_LANGUAGES = {"d": ("gdc", _D, "a", "true"), "c": ("gcc", _C, "*a", "1")}
_LATER = "not stored yet, the function is just beginning"


@pytest.mark.parametrize("language", ["d", "c"])
def test_before_it_has_stored_them(tmp_path: Path, build: Build, language: str) -> None:
    compiler, text, name, true = _LANGUAGES[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    source = tmp_path / f"early.{language}"
    source.write_text(text)
    with Recorded(tmp_path, build(source, "-O0", compiler=compiler), source).gdb() as gdb:
        gdb.run("break *scale")
        gdb.run("continue")
        for _ in range(2):
            assert gdb.fails(f"print all({name} > 0)") == f"a: {_LATER}."
            assert f"\n(by: {_LATER})\n" in gdb.run("print by")
            assert f"\n(by: {_LATER})\n" in gdb.run("rdb-meant display by")
            assert f"\n(a, by: {_LATER})\n" in gdb.run("info args")
            gdb.run("stepi")
        if language == "c":
            assert _LATER not in gdb.run("print total")
        gdb.run("next")
        assert gdb.run(f"print all({name} > 0)").endswith(f"= {true}\n")
        assert gdb.run("print by").endswith("= 2\n")
        assert _LATER not in gdb.run("info args") + gdb.run("last by")
        gdb.run("break *main")
        gdb.run("goto START")
        gdb.run("continue")
        if language == "c":
            assert f"\n(a: {_LATER})\n" in gdb.run("info locals")


_FORTRAN = """
module work
contains
  subroutine scale(a, n, lows, given)
    integer, intent(in) :: n, lows
    real(8), intent(inout) :: a(lows:n+lows)
    real(8), allocatable, intent(in) :: given(:)
    a(lows:n) = a(lows:n) * 2 + given(1)
  end subroutine
end module
program main
  use work
  real(8) :: b(0:11) = 1
  real(8), allocatable :: c(:)
  c = [3d0, 4d0]
  call scale(b, 10, 1, c)
  print *, b(3)
end program
"""


def test_bounds_of_dummy_arrays_are_computed_later(tmp_path: Path, build: Build) -> None:
    """Behind GDB's breakpoint at the procedure; its numbers are there."""
    if shutil.which("gfortran") is None:
        pytest.skip("needs gfortran")
    source = tmp_path / "early.f90"
    source.write_text(_FORTRAN)
    with Recorded(tmp_path, build(source, "-O0", compiler="gfortran"), source).gdb() as gdb:
        gdb.run("break work::scale")
        gdb.run("continue")
        try:
            said = gdb.run("print a")
        except GdbError as error:
            said = str(error)
        assert f"a: {_LATER}" in said
        gdb.run("python from rdb_gdb.search.evaluate import Judge; j = Judge('all(scale::a > 0)')")
        gdb.run("python j.bind(0, 0, None)")
        assert _LATER in gdb.run("python print(j.verdict())")
        assert gdb.run("print n").endswith("= 10\n")
        assert "(a=..., n=10, lows=1, given=(3, 4))" in gdb.run("calls scale")
        assert gdb.run("print given").endswith("= (3, 4)\n")
        gdb.run("next")
        assert "good" in gdb.run("python print(j.verdict())")
        assert gdb.run("print a(11)").endswith("= 1\n")


def test_optimized_code_knows_where_they_are(tmp_path: Path, build: Build) -> None:
    source = tmp_path / "early.c"
    source.write_text(_C)
    with Recorded(tmp_path, build(source, "-O2"), source).gdb() as gdb:
        gdb.run("break *scale")
        gdb.run("continue")
        assert gdb.run("print by").endswith("= 2\n")
