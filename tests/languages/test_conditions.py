"""Conditions of breakpoints where GDB 13 does not survive to look up their names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS
from gdbdriver import Recorded, in_console

pytestmark = pytest.mark.languages

SOURCE = PROGRAMS / "languages" / "turns.d"


def test_in_d_after_link_time_optimisation(tmp_path: Path) -> None:
    program = tmp_path / "turns"
    subprocess.run(["gdc", "-g", "-O1", "-flto", "-o", program, SOURCE], check=True)
    recorded = Recorded(tmp_path, program, SOURCE)
    line = next(
        n
        for n, text in enumerate(SOURCE.read_text().splitlines(), 1)
        if text.strip() == "getppid();"
    )
    lines = [
        "goto start",
        f"break turns.d:{line} if total == 7",
        "continue",
        "print i",
        "delete",
        f"break turns.d:{line}",
        "condition 2 i == 9",
        "continue",
        "print i",
        "condition 2 nowhere > 3",
        "continue",
        "print 1",
    ]
    said = in_console(recorded.home, "job", lines)
    assert said[3].rstrip().endswith("= 7") and said[8].rstrip().endswith("= 9"), said
    assert "is undefined here, so there is no stop" in said[10], said
    assert "end of the recording" in said[10] and said[11].rstrip().endswith("= 1"), said
