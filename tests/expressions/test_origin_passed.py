"""origin: from the arguments of functions to what their callers passed, by the ABI's registers and
the stack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import in_console

SOURCE = PROGRAMS / "passed.c"
# Of `got`: the functions that it was passed to in registers, and the comment where it was made.
CAME = {
    "whole": (["set"], "whole"),
    "real": (["set"], "real"),
    "ninth": ([], "ninth"),
    "deep": (["inner", "outer"], "ninth"),
    "expression": (["expression"], "expression"),
    "single": (["single"], "single"),
    "constant": (["constant"], "constant"),
    "part": ([], "part"),
}


def line_of(comment: str) -> int:
    lines = SOURCE.read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(f"// {comment}"))


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_caller_that_passed_it(tmp_path: Path, build: Build, level: str) -> None:
    program = build(SOURCE.name, level)
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    asked = [line for one in CAME for line in (f"origin got.{one}", "undo")]
    said = in_console(tmp_path, "job", [*asked, "origin got.event"])
    for number, (name, (functions, comment)) in enumerate(CAME.items()):
        rows = [row for row in said[2 * number].splitlines() if row.startswith("0  ")]
        hows = [row.split("  ")[-1].strip() for row in rows]
        assert hows.pop() == "computed", f"{name}: {said[2 * number]}"
        passed = re.findall(r"passed to (\w+)", " ".join(hows))
        assert passed == functions, f"{name}: {said[2 * number]}"
        at = re.search(r" main \(\) at passed\.c:(\d+) ", rows[-1])
        assert at and (level != "-O0" or int(at[1]) == line_of(comment)), rows[-1]
        assert said[2 * number + 1].startswith("undid origin")
    assert "passed to event, returned by " in said[-1] and "getppid() = " in said[-1], said[-1]
