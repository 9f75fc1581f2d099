"""Elements with arrays of their own sizes are shown as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Recorded

SOURCE = "sized_each.f90"
SHOWN = {
    "all%parts": "{( id = 0, w = (1) ), ( id = 0, w = (2, 2) ), ( id = 0, w = (3, 3, 3) )}",
    "all%parts(2:3)": "{( id = 0, w = (2, 2) ), ( id = 0, w = (3, 3, 3) )}",
    "all%parts(1:3:2)": "{( id = 0, w = (1) ), ( id = 0, w = (3, 3, 3) )}",
    "all%parts(2)": "( id = 0, w = (2, 2) )",
    "all%pair": "{( id = 0, w = (20, 20) ), ( id = 0, w = <not allocated> )}",
    "all%grid": "{{( id = 0, w = (11) ), ( id = 0, w = (21, 21) )}, "
    "{( id = 0, w = (12) ), ( id = 0, w = (22, 22) )}}",
    "all%none": "<not allocated>",
}


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_each_element_has_its_own_array(tmp_path: Path, build: Build, level: str) -> None:
    program = Recorded(tmp_path, build(SOURCE, level), PROGRAMS / SOURCE)
    with program.gdb() as gdb:
        gdb.run("goto END")
        gdb.run("find-event write --prev")
        gdb.run("up-silently 100")
        while "sized_each ()" not in gdb.run("frame"):
            gdb.run("down-silently")
        for expression, shown in SHOWN.items():
            assert gdb.run(f"print {expression}").partition(" = ")[2].strip() == shown
        everything = gdb.run("info locals")
        for one in ("parts", "pair", "grid", "none"):
            assert f"{one} = {SHOWN[f'all%{one}']}" in everything
