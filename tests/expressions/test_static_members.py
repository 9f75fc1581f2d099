"""Static members of C++ classes, written as the program could write them in the frame."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import Recorded, in_console

IN = {  # what each function may write
    "sim::Solver::step": ["count", "total", "Solver::count", "Solver::limit", "Inner::depth"],
    "sim::Solver::Inner::run": ["depth", "count", "total", "Solver::made", "Base::total"],
    "sim::Solver::fixed": ["Solver::count", "Solver::most", "Base::total"],
    "sim::deep::uses": ["Solver::count", "Solver::Inner::depth"],
    "one": ["sim::Solver::count"],
    "other::f": ["Solver::count"],
}
FULL = {
    "count": "sim::Solver::count",
    "total": "sim::Base::total",
    "depth": "sim::Solver::Inner::depth",
    "Inner::depth": "sim::Solver::Inner::depth",
}


def in_full(function: str, name: str) -> str:
    if function == "other::f":
        return f"other::{name}"
    return FULL.get(name, name if name.startswith("sim::") else f"sim::{name}")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_which_member(tmp_path: Path, build: Build, level: str) -> None:
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", build("statics.cc", level))
    assert done.returncode == 0, done.stderr
    asked = []
    for function, named in IN.items():
        asked += ["goto 20", f"break {function}", "continue", "delete"]
        for name in named:
            asked += [f"print {name}", f"print {in_full(function, name)}"]
    asked += ["goto start", "break both::g", "continue", "print Solver::count", "goto end"]
    asked += ["bisect Solver::count < 4", "goto end", "print Solver::count"]
    said = in_console(tmp_path, "job", asked)
    for function, named in IN.items():
        del said[:4]
        for name in named:
            short, full = (re.search(r"= (\S+)", said.pop(0)) for _ in range(2))
            assert short and full and short[1] == full[1], f"{name} in {function}"
    # In rdb's words or, from GDB 16 on, in GDB's.
    assert all(one in said[3] for one in ("error: ", "other::Solver", "sim::Solver")), said[3]
    assert "turned false" in said[5] and " 0 without a value" in said[5], said[5]
    assert 'No symbol "Solver" in current context' in said[7], said[7]


def test_a_member_of_an_object_by_its_class(tmp_path: Path, build: Build) -> None:
    """GDB takes `this` of another class for such an object."""
    source = PROGRAMS / "lost_this.cpp"
    recorded = Recorded(tmp_path, build(source.name, "-O0"), source)
    with recorded.gdb() as gdb:
        gdb.run("break Box::fill")
        gdb.run("continue")
        assert json.loads(gdb.run("rdb-number Box::v + 1"))[1] == 2
        gdb.run("up")
        said = gdb.fails("rdb-number Box::v")
        assert said.startswith("No object of Box runs here: v is a member of Box")
        gdb.run("goto end")
        found = json.loads(gdb.run("bisect Box::v < 2 --json"))
        assert found["function"] == "Box::fill" and found["bound"] == "v of Box"
