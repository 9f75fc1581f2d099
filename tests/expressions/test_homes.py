"""A name that is a local of a function which does not run: the answer says of which function."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import run_rdb
from gdbdriver import in_console

from rdb.recording.symbols.units import units_with

MAIN = """
#include <unistd.h>
int work(int step);
int main(void)
{
	long sum = 0;
	for (int step = 0; step < 30; step++) {
		sum += work(step);
		getppid();
	}
	return sum == 7;
}
"""

C = """
#include <unistd.h>
static int leaf(int step)
{
	int volume = 40 - step * step;
	return volume / (step + 1);
}
static int asks(int step)
{
	int asked = 20 - step;
	if (step == 35)
		getppid();
	return asked;
}
int work(int step)
{
	return leaf(step) + asks(step);
}
"""

CXX = """
namespace {
template <class T> struct Cell {
	T weigh(T step)
	{
		T volume = 40 - step * step;
		return volume / (step + 1);
	}
};
template <class T> T clamped(T step)
{
	T low = 25 - step;
	return low < 0 ? 0 : low;
}
}
extern "C" int work(int step)
{
	Cell<int> cell;
	return cell.weigh(step) + clamped(step);
}
"""

MEMBERS = """
#include <unistd.h>
struct Counter {
	int bumped = 0;
	__attribute__((noinline)) void bump(int &total, int step)
	{
		total += step;
		if (step == 11)
			total = -total;
		if (total < 0)
			total = -total;
		bumped++;
	}
};
struct Asker {
	int asked = 0;
	__attribute__((noinline)) void ask(int step) { asked += getppid() > 0 ? step : 1; }
};
extern "C" int work(int step)
{
	static Counter counter;
	static Asker asker;
	static int all;
	counter.bump(all, step);
	if (step == 29)
		asker.ask(step);
	return all;
}
"""

FORTRAN = """
module physics
  interface
    module integer function counted(n)
      integer, intent(in) :: n
    end function
  end interface
contains
  integer function leaf(step)
    integer, intent(in) :: step
    integer :: Volume
    volume = 40 - step * step
    block
      integer :: inner
      inner = volume / (step + 1)
      leaf = inner + counted(step)
    end block
  end function
end module
submodule (physics) sub
contains
  module procedure counted
    integer :: left
    left = 20 - n
    counted = 0 * left
  end procedure
end submodule
integer(4) function work(step) bind(c)
  use physics
  integer(4), value :: step
  work = leaf(int(step))
end function
"""


class Built:
    def __init__(self, folder: Path, suffix: str, text: str, *command: str) -> None:
        self.home = folder / "home"
        (folder / "main.c").write_text(MAIN)
        (folder / f"work{suffix}").write_text(text)
        build = [*command, "-g", "-c", f"work{suffix}"]
        subprocess.run(build, check=True, cwd=folder)
        build = ["gcc", "-g", "main.c", "work.o", "-o", "job", "-lgfortran", "-lm"]
        subprocess.run(build if suffix == ".f90" else build[:-2], check=True, cwd=folder)
        run_rdb(self.home, folder, "run", "--name", "job", "--", str(folder / "job"))

    def bisect(self, expression: str, code: int = 0) -> str:
        done = run_rdb(self.home, self.home, "bisect", "job", expression)
        assert done.returncode == code, done.stderr
        return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_local_of_a_function_without_events(tmp_path: Path, level: str) -> None:
    job = Built(tmp_path, ".c", C, "gcc", level)
    assert "volume is a local of leaf (work.c:5); write leaf::volume" in job.bisect("volume > 0", 1)
    assert "work.c:5" in job.bisect("leaf::volume > 0")
    # This one calls, but not at an event.
    assert "asked is a local of asks (work.c:10); write asks::asked" in job.bisect("asked > 0", 1)
    lines = ["print volume", "print leaf::volume", "plot volume", "print nosuch"]
    lines.append("bisect volume > 0 --to 1")  # few events
    here, away, plot, none, few = in_console(job.home, "job", lines)
    assert "volume is a local of leaf (work.c:5)" in few, few
    assert "volume is a local of leaf (work.c:5), not in scope here" in here
    assert "volume is a local of leaf (work.c:5), not in scope here" in plot
    assert "leaf is not running" in away and "local" not in none


@pytest.mark.slow
def test_templates_and_unnamed_namespaces(tmp_path: Path) -> None:
    job = Built(tmp_path, ".cc", CXX, "g++", "-O0", "-fno-exceptions")
    said = job.bisect("volume > 0", 1)
    assert "volume is a local of Cell::weigh (work.cc:6); write Cell::weigh::volume" in said
    assert "work.cc:6" in job.bisect("Cell::weigh::volume > 0")
    assert "low is a local of clamped (work.cc:12)" in job.bisect("low >= 0", 1)
    assert "work.cc:12" in job.bisect("clamped::low >= 0")


@pytest.mark.slow
def test_members_of_objects_whose_functions_do_not_run(tmp_path: Path) -> None:
    job = Built(tmp_path, ".cc", MEMBERS, "g++", "-O1")
    assert (
        "bumped is a member of Counter, whose functions run at no event; name an object of it"
    ) in job.bisect("bumped < 4", 1)
    assert "work.cc:12" in job.bisect("counter.bumped < 4")
    (said,) = in_console(job.home, "job", ["print bumped"])
    assert "bumped is a member of Counter, not in scope here" in said
    lines = ["break Counter::bump if step == 9", "reverse-continue", "print Counter::bump::bumped"]
    assert in_console(job.home, "job", lines)[-1].endswith("= 9\n")


def test_fortran(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    job = Built(tmp_path, ".f90", FORTRAN, "gfortran", "-O0")
    for name, of, line, changes in (
        ("volume", "physics::leaf", 11, 12),
        ("inner", "physics::leaf", 14, 15),  # in a block
        ("left", "counted", 23, 24),  # in a submodule
    ):
        said = job.bisect(f"{name} > 0", 1)
        assert f"{name} is a local of {of} (work.f90:{line}); write {of}::{name}" in said
        assert f"work.f90:{changes}" in job.bisect(f"{of}::{name} > 0")
    lines = ["break work.f90:12", "reverse-continue", "print leaf::nosuch"]
    assert 'leaf has no "nosuch" here' in in_console(job.home, "job", lines)[2]


@pytest.mark.parametrize(
    "command",
    [["gcc", "-g"], ["gcc", "-g", "-gz"], ["gcc", "-gdwarf-4"], ["clang-14", "-g"]],
    ids=" ".join,
)
def test_only_the_units_with_the_name(tmp_path: Path, command: list[str]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "work.c").write_text(C)
    # A longer folder's name would move strings, whose offsets may be those of something else then.
    same = f"-fdebug-prefix-map={tmp_path}=."
    subprocess.run([*command, same, "main.c", "work.c", "-o", "both"], check=True, cwd=tmp_path)
    both = tmp_path / "both"

    def units(name: str) -> list[str]:
        found = units_with({"both": both, "gone": None}, tmp_path, name)
        return [Path(one).name for one in found]

    assert units("asked") == units("volume") == ["work.c"] and units("sum") == ["main.c"]
    assert units("nosuch") == [] and sorted(units("step")) == ["main.c", "work.c"]


def test_what_x_examines_next_stays(tmp_path: Path) -> None:
    made = Built(tmp_path, ".c", C, "gcc", "-O0")
    lines = ["goto start", "x/1xb $sp", "print volume", "output $_ == $sp", "x", "x/1xb $sp+1"]
    lines.append("python print(gdb.VERSION)")
    *_, failed, last, after, expected, version = in_console(made.home, "job", lines)
    assert "volume is a local of leaf" in failed and "1" in last
    assert after.split() == expected.split()
    found = re.search(r"(\d+)\.\d", version)
    assert found, version
    if int(found[1]) < 14:  # later ones are asked by `info line`, and forget how many were shown
        lines = ["goto start", "x/2xb $sp", "print volume", "x", "x/2xb $sp+2"]
        *_, after, expected = in_console(made.home, "job", lines)
        assert after.split() == expected.split()
