"""A variable of a Fortran submodule: GDB calls it MODULE.SUBMODULE::NAME, and cannot parse that."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Recorded, in_console


@pytest.fixture
def recorded(tmp_path: Path, build: Build) -> Recorded:
    source = "fortran/submodule.f90"
    return Recorded(tmp_path, build(source, "-O0", compiler="gfortran"), PROGRAMS / source)


def test_outside_of_its_procedures(recorded: Recorded) -> None:
    lines = ["print worst", "print Relaxing::worst", "bisect worst < 20", "undo",
             "watch worst", "reverse-continue"]  # fmt: skip
    bare, full, bisected, _, watched, back = in_console(recorded.home, "job", lines)
    assert "= 45" in bare and "= 45" in full
    assert recorded.at("changed") in bisected
    assert "Hardware watchpoint 1: worst\n" in watched
    assert "Hardware watchpoint 1: worst\n" in back and "New value = 36" in back
