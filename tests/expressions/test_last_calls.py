"""Answers name the line of a function's last call into a library, although it became a jump."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import in_console

SOURCE = PROGRAMS / "last_calls.c"
NAMES = ["direct", "through", "either", "other", "pointed", "table", "copied", "called", "switched"]


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
def test_a_system_call(tmp_path: Path, build: Build, level: str) -> None:
    program = build(SOURCE.name, level, "-w")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    (said,) = in_console(tmp_path, "job", ["find-event write --prev"])
    assert f" at last_calls.c:{line_of('says')}, inside " in said, said
