"""Comparisons of texts that are optimized out.  GDB would call the program's malloc for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, run_rdb
from gdbdriver import in_console

SAID = "optimized out"
OF_C = ['phase == "factor"', 'phase != "factor"']
OF_FORTRAN = ["phase == 'FACTOR'", "trim(phase)", "trim(phase) /= 'DONE'", "len_trim(phase)"]
CASES = [("lost_texts.c", "gcc", OF_C), ("fortran/lost_texts.f90", "gfortran", OF_FORTRAN)]


@pytest.mark.parametrize(("source", "compiler", "expressions"), CASES)
def test_they_have_no_value_and_make_no_branch(
    tmp_path: Path, build: Build, source: str, compiler: str, expressions: list[str]
) -> None:
    program = build(source, "-O2", "-Wno-unused", compiler=compiler)
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    call = "getppid" if compiler == "gcc" else "getpid"
    asked = [f"{verb} {one}" for one in expressions for verb in ("print", "display")]
    said = in_console(tmp_path, "job", ["goto start", f"find-event {call}", *asked, "when"])
    assert [SAID in one for one in said[2:-1]] == [True] * len(asked), said
    assert "branch" not in "".join(said)
    searched = run_rdb(tmp_path, tmp_path, "bisect", "job", expressions[0])
    assert SAID in searched.stdout and searched.returncode == 1
