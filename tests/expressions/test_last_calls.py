"""Answers name the line of a function's last call into a library, although it became a jump."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import Recorded, in_console

SOURCE = PROGRAMS / "last_calls.c"
NAMES = ["direct", "through", "either", "other", "pointed", "table", "copied", "called", "switched"]

_FILLED = """
#include <algorithm>
#include <unistd.h>
static int volatile seed = 2;
static int got[4];
static int __attribute__((noinline)) first(int n) { return n + seed; }
int main(int argc, char **) {
	std::fill_n(got, 4, first(argc));
	return getppid() < got[1];
}
"""


def line_of(comment: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"// {comment}"))


@pytest.mark.parametrize("flags", ["-O0", "-O2", "-O2 -fno-plt", "-O2 -fPIE -Wl,-z,now"])
def test_the_line_of_the_jump(tmp_path: Path, build: Build, flags: str) -> None:
    program = build(SOURCE.name, *flags.split(), "-w")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    asked = [
        line for one in NAMES for line in (f"last {one}[3]", "undo", f"origin {one}[3]", "undo")
    ]
    said = in_console(tmp_path, "job", [*asked, "bisect direct[3] == 0"])
    for number, name in enumerate(NAMES):
        here = f"last_calls.c:{line_of(name)}"
        last, origin = said[4 * number], said[4 * number + 2]
        assert re.search(rf"^\[0\] .* at {here}, inside ", last, re.MULTILINE), f"{name}: {last}"
        assert re.search(rf"^0 .* at {here} ", origin, re.MULTILINE), f"{name}: {origin}"
    assert f" at last_calls.c:{line_of('direct')}, inside " in said[-1], said[-1]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_changes_by_a_library(tmp_path: Path, build: Build, level: str) -> None:
    program = build(SOURCE.name, level, "-w")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    asked = [f"changes {one}[3]" for one in NAMES]
    said = in_console(tmp_path, "job", ["frame", *asked, "changes from[3]", "frame"])
    for name, one in zip(NAMES, said[1:], strict=False):
        assert re.search(rf"  last_calls.c:{line_of(name)}, inside \w*mem\w+$", one, re.M), one
    assert re.search(r"^2 .*  last_calls.c:\d+$", said[-2], re.M), said[-2]  # its own store
    assert said[-1] == said[0]


def test_changes_by_an_inline_function_of_a_header(
    tmp_path: Path, build_text: Callable[..., Path]
) -> None:
    program = build_text("filled", _FILLED, "-O1", "-x", "c++", compiler="g++")
    with Recorded(tmp_path, program, tmp_path / "filled.c").gdb() as gdb:
        gdb.run("goto END")
        frame = gdb.run("frame 1").splitlines()[0]
        said = gdb.run("changes got[2]")
        line = 1 + _FILLED.splitlines().index("\tstd::fill_n(got, 4, first(argc));")
        assert re.search(rf"  filled.c:{line}(, inside .*fill.*)?$", said, re.M), said
        assert gdb.run("frame").splitlines()[0] == frame, said


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_system_call(tmp_path: Path, build: Build, level: str) -> None:
    program = build(SOURCE.name, level, "-w")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    (said,) = in_console(tmp_path, "job", ["find-event write --prev"])
    assert f" at last_calls.c:{line_of('says')}, inside " in said, said
