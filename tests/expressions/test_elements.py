"""Members and elements have the names, order and bounds of the program's language."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS
from gdbdriver import Gdb, Recorded


def fields(gdb: Gdb, expression: str) -> dict[str, str]:
    return dict(json.loads(gdb.run(f"rdb-fields {expression}"))[0])


def numbers(gdb: Gdb, expression: str) -> dict[tuple[int, ...], float]:
    """The elements by their indices as they are written."""
    found = fields(gdb, expression).items()
    return {tuple(map(int, re.findall(r"-?\d+", name))): float(value) for name, value in found}


def make(folder: Path, source: str, *command: str) -> Recorded:
    program = folder / "program"
    subprocess.run([*command, "-o", program, PROGRAMS / source], check=True, cwd=folder)
    made = Recorded(folder, program, PROGRAMS / source)
    assert made.done.returncode == 0, made.done.stderr
    return made


def test_fortran(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    recorded = make(tmp_path, "fortran/elements.f90", "gfortran", "-g", "-O0")
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        # An assumed shape begins where its dummy says, not where the actual argument does.
        assert numbers(gdb, "a") == {(i, j): 100 * i + j for j in (1, 2, 3) for i in (0, 1, 2)}
        gdb.run("up")
        for _ in range(2):
            grid = numbers(gdb, "grid")
            assert grid == {(i, j): 100 * i + j for j in (1, 2, 3) for i in (-1, 0, 1, 2)}
            assert list(grid)[:2] == [(-1, 1), (0, 1)]  # in the order of memory
            assert numbers(gdb, "part") == {
                (1, 1): -98, (2, 1): 102, (1, 2): -97, (2, 2): 103
            }  # fmt: skip
            assert numbers(gdb, "cube") == {
                (i, j, k): 100 * i + 10 * j + k for k in (-1, 0) for j in (5, 6) for i in (0, 1, 2)
            }
            assert fields(gdb, "cube")["(2,6,-1)"] == "259"
            sub = fields(gdb, "sub")
            for i in (-1, 0, 1):
                for j in (1, 2):
                    for k in (0, 1, 2):
                        assert float(sub[f"({i})%w({j},{k})"]) == 1000 * i + 100 * j + k
                assert sub[f"({i})%tag"] == "'abcd'" and sub[f"({i})%on"] == ".TRUE."
            assert len(sub) == 3 * (6 + 2)
            assert fields(gdb, "names") == {"(1)": "'one'", "(2)": "'two'"}
            assert fields(gdb, "sub(0)%w(:,1)") == {"(1)": "101", "(2)": "201"}
            assert json.loads(gdb.run("rdb-number ready"))[1] == 1


def test_cxx(tmp_path: Path) -> None:
    recorded = make(tmp_path, "elements.cc", "g++", "-g", "-O0")
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        assert numbers(gdb, "plane") == {(i, j): 10 * i + j for i in (0, 1) for j in (0, 1, 2)}
        assert fields(gdb, "plane")["[1][2]"] == "12"
        assert fields(gdb, "rows")["[1][0]"] == "10"
        assert numbers(gdb, "rows") == {(i, j): 10 * i + j for i in (0, 1) for j in (0, 1)}
        for name in ("queue", "chain"):
            assert fields(gdb, name) == {"[0]": "0", "[1]": "1"}
        assert fields(gdb, "flags") == {"[0]": "false", "[1]": "true"}
        assert fields(gdb, "by_name") == {'["one"]': "1", '["two"]': "2"}
        cells = fields(gdb, "cells")
        assert cells["[1].kind"] == "1" and cells["[1].many[1]"] == "101"
        assert cells["[0].w[1][2]"] == "0" and len(cells) == 2 * (1 + 6 + 2)


def test_rust(tmp_path: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("no rustc")
    recorded = make(tmp_path, "elements.rs", "rustc", "-g")
    with recorded.gdb() as gdb:
        gdb.run("break elements::look")
        gdb.run("continue")
        cell = fields(gdb, "*cell")
        assert cell.pop(".pair.0") == "7" and cell.pop(".pair.1") == "8"
        assert cell == {f".w[{i}][{j}]": str(10 * i + j) for i in (0, 1) for j in (0, 1, 2)}


def test_other_languages_as_they_write_it(tmp_path: Path) -> None:
    """Compilers that may not be there: GDB is told the language."""
    recorded = make(tmp_path, "elements.cc", "g++", "-g", "-O0")
    written = {
        **{"c": "[1][2]", "c++": "[1][2]", "d": "[1][2]", "go": "[1][2]", "asm": "[1][2]"},
        **{"ada": "(1,2)", "pascal": "[1,2]", "modula-2": "[1,2]"},
    }
    with recorded.gdb() as gdb:
        gdb.run("break look")
        gdb.run("continue")
        for language, name in written.items():
            gdb.run(f"set language {language}")
            assert fields(gdb, "plane")[name] == "12", language


def test_members_that_have_no_value_and_those_that_are_left_out(tmp_path: Path) -> None:
    """They are not like the same ones of another rank, and say why."""
    recorded = make(tmp_path, "optimized_members.c", "gcc", "-g", "-O2")
    with recorded.gdb() as gdb:
        gdb.run("break alarm if $rdi == 0")
        gdb.run("continue")
        gone = "value has been optimized out"
        rows, *_ = json.loads(gdb.run("rdb-fields parts"))
        assert rows == [[".kept", "5"], [".gone", None, gone]]
        assert json.loads(gdb.run("rdb-fields before"))[0] == [["", None, gone]]
        rows, *_ = json.loads(gdb.run("rdb-fields many"))
        assert len(rows) == 201 and rows[199] == ["[199]", "0"]
        assert rows[200][:2] == ["[200]", None] and "first 200 elements" in rows[200][2]
        rows, *_ = json.loads(gdb.run("rdb-fields plane"))
        assert [row[0] for row in rows if row[1] is None] == ["[0][200]"] and len(rows) == 401
        rows, *_ = json.loads(gdb.run("rdb-fields cells"))
        assert len(rows) == 20001 and "first 20,000 members" in rows[20000][2]
        assert json.loads(gdb.run("rdb-fields many[0]@200"))[0][199] == ["[199]", "0"]
