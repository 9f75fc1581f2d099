"""Where a recording ends in a library, the program's own names mean what they do in the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import run_rdb
from gdbdriver import DEADLINE_S, SCRIPT, Recorded, in_console

C = r"""
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int data = 4711;
int top = 12;
static void deep(int depth, char **argv)
{
	int own = 10 * depth;
	if (depth < 7) {
		deep(depth + 1, argv);
		return;
	}
	data += own;
	if (!strcmp(argv[1], "abort"))
		abort();
	if (!strcmp(argv[1], "assert"))
		assert(own == 1);
	if (!strcmp(argv[1], "exit"))
		exit(3);
	if (!strcmp(argv[1], "_exit"))
		_exit(3);
	if (!strcmp(argv[1], "signal"))
		raise(SIGSEGV);
	if (!strcmp(argv[1], "memset"))
		memset((void *)(long)depth, 1, 4096 * (size_t)own);
}
int main(int argc, char **argv)
{
	(void)argc;
	deep(1, argv);
	return 0;
}
"""

CXX = r"""
#include <map>
#include <vector>
static int data = 4711;
int main()
{
	int own = 70;
	data += own;
	std::vector<int> numbers(3);
	return numbers.at(own);
}
"""

FORTRAN = r"""
module state
  integer :: data = 4711
end module
program main
  use state
  integer :: own
  own = 70
  data = data + own
  stop 3
end program
"""


def answers(folder: Path, program: Path, *arguments: str, lines: list[str]) -> list[str]:
    """What the console says to LINES, where the recording of the program ends."""
    return console(folder, "--", str(program), *arguments, lines=lines)


def console(folder: Path, *run: str, lines: list[str]) -> list[str]:
    """The same of what `rdb run` with these arguments records."""
    run_rdb(folder / "home", folder, "run", "--name", "job", *run)
    return in_console(folder / "home", "job", lines)


def build(folder: Path, name: str, text: str, *command: str) -> Path:
    source = folder / name
    source.write_text(text)
    program = source.with_suffix("")
    subprocess.run([*command, "-g", "-O0", "-w", "-o", program, source], check=True, cwd=folder)
    return program


@pytest.mark.parametrize("way", ["abort", "assert", "exit", "_exit", "signal", "memset"])
def test_the_innermost_frame_of_the_program(tmp_path: Path, way: str) -> None:
    program = build(tmp_path, "deep.c", C, "gcc")
    lines = ["print own", "print data", "frame 0", "print 1", "ranks", "goto start", "goto end",
             "print own + depth", "up", "print own"]  # fmt: skip
    own, data, _, _, ranks, _, _, again, _, above = answers(tmp_path, program, way, lines=lines)
    assert own.endswith("70\n") and data.endswith("4781\n")
    assert "deep () at deep.c" in ranks
    assert again.endswith("77\n") and above.endswith("60\n")


def test_a_frame_that_was_chosen_stays(tmp_path: Path) -> None:
    program = build(tmp_path, "deep.c", C, "gcc")
    lines = ["up 2", "print own", "when", "print own", "down", "print own"]
    said = answers(tmp_path, program, "abort", lines=lines)
    assert [said[n].split()[-1] for n in (1, 3, 5)] == ["50", "50", "60"]


def test_finish_leaves_where_the_rank_stands_or_the_frame_that_was_chosen(tmp_path: Path) -> None:
    program = build(tmp_path, "deep.c", C, "gcc")
    lines = ["finish", "print own", "up", "finish", "reverse-finish"]
    here, own, above, chosen, back = answers(tmp_path, program, "abort", lines=lines)
    assert "exit from #0 " in here and "end of the recording" in here and own.endswith("70\n")
    assert f"exit from {above.split()[1]} " in chosen and "call of #0 " in back


def test_after_main_has_returned_globals_are_the_programs(tmp_path: Path) -> None:
    program = build(tmp_path, "deep.c", C, "gcc")
    data, top = answers(tmp_path, program, "no", lines=["print data", "print top"])
    assert data.endswith("4781\n") and top.endswith("12\n")


def test_not_a_line_of_the_librarys_headers(tmp_path: Path) -> None:
    program = build(tmp_path, "thrown.cc", CXX, "g++")
    own, data, ranks = answers(tmp_path, program, lines=["print own", "print data", "ranks"])
    assert own.endswith("70\n") and data.endswith("4781\n")
    assert "main () at thrown.cc:10" in ranks


def test_in_the_programs_language(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    program = build(tmp_path, "halt.f90", FORTRAN, "gfortran")
    own, data, both = answers(
        tmp_path, program, lines=["print own", "print data", "print own == 70 .and. data > 4000"]
    )
    assert own.endswith("70\n") and data.endswith("4781\n") and both.endswith(".TRUE.\n")


NESTED = r"""
#include <stdlib.h>
static int leaf(int n)
{
	if (n > 3)
		abort();
	return n;
}
static int middle(int n)
{
	return leaf(10 * n) + 1;
}
static int outer(int n)
{
	return n ? middle(0) + outer(n - 1) : leaf(4);
}
int main(void)
{
	return outer(3);
}
"""


@pytest.fixture
def nested(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path, build(tmp_path, "nested.c", NESTED, "gcc"), tmp_path / "nested.c")


def test_reverse_finish_goes_back_to_the_call_of_the_frame_that_was_chosen(
    nested: Recorded,
) -> None:
    with nested.gdb() as gdb:
        gdb.run("break leaf if n == 4")
        gdb.run("continue")
        gdb.run("delete")
        stack = [(frame["func"], frame["level"]) for frame in gdb.frames()]
        for level in (2, 1, 4, 0):
            gdb.run(f"frame {level}")
            gdb.run("reverse-finish")
            called = gdb.frames()
            assert [one["func"] for one in called] == [name for name, _ in stack[level + 1 :]]
            call = gdb.run("x/i $pc")
            assert "call" in call and stack[level][0] in call
            gdb.run("undo")
            assert [(one["func"], one["level"]) for one in gdb.frames()] == stack
        gdb.run("break middle")
        gdb.run("continue")
        gdb.run("goto END")
        chosen = next(one["level"] for one in gdb.frames() if one["func"] == "leaf")
        gdb.run(f"frame {chosen}")
        gdb.run("reverse-finish")
        assert gdb.function() == "outer" and gdb.value("n") == "0"


def test_reverse_finish_stops_at_breakpoints_on_its_way(tmp_path: Path) -> None:
    program = build(tmp_path, "nested.c", NESTED, "gcc")
    lines = ["frame function outer", "reverse-finish", "print n", "undo", "break leaf",
             "frame function outer", "reverse-finish", "where", "undo", "where"]  # fmt: skip
    said = answers(tmp_path, program, lines=lines)
    assert "outer () at nested.c:15" in said[1] and said[2].endswith(" 1\n")
    assert "Stopped before the frame" in said[6] and said[7].endswith("leaf () at nested.c:5\n")
    assert "kill" in said[9]


def test_where_one_types_at_gdb_itself(nested: Recorded) -> None:
    lines = ["rdb-open job", "continue", "print n", "up", "print n", "frame 0", "print 1 + 1"]
    done = deadlines.run(
        ["gdb", "-nx", "-q", "-ex", "set width 0", "-x", SCRIPT],
        DEADLINE_S,
        input="\n".join([*lines, "kill", "quit", ""]),
        env={
            **os.environ,
            "RDB_HOME": str(nested.home),
            "RDB_EXECUTABLE": str(Path(sys.executable).parent / "rdb"),
        },
    )
    said = done.stdout.split("(gdb) ")
    assert re.search(r"^#\d+ .* in leaf \(n=4\) at .*nested.c:6$", said[2], re.M), done.stdout
    assert said[3] == "$1 = 4\n" and "outer (n=0)" in said[4] and said[5] == "$2 = 0\n"
    assert said[6].startswith("#0 ") and "leaf" not in said[6] and said[7] == "$3 = 2\n"
