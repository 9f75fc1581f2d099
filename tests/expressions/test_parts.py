"""Fortran's `z%re`, `z%im`, `len(s)` and `len_trim(s)`; `true` and `false` of C."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import in_console

SOURCE = PROGRAMS / "fortran" / "parts.f90"
# Condition -> the step at which it turns false, and the line.
CONDITIONS = {
    "z%re < 4": (4, "z = "),
    "z%IM < 7": (4, "z = "),
    "az(2)%im < 7": (4, "az = "),
    "one%re < 3": (3, "one = "),
    "p%c%re < 3": (3, "p%c"),
    "p%re < 4": (4, "p%re"),
    "len(title) < 4": (4, "title"),
    "len_trim(name) < 3": (3, "name ="),
}
PRINTED = {"len(name)": 12, "len(names)": 12, "len(title)": 5, "z%re": 5, "p%c%im": -5, "p%re": 5}
TRUTHS = """
#include <stdbool.h>
#include <unistd.h>
static struct { bool early; } s;
int main(void) {
  for (int i = 0; i < 8; i++) {
    s.early = i < 5;
    getppid();
  }
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    home = tmp_path_factory.mktemp("parts")
    program = build("fortran/parts.f90", "-O0", compiler="gfortran")
    assert run_rdb(home, home, "run", "--name", "job", "--", program).returncode == 0
    return home


@pytest.mark.slow
def test_bisect_and_conditions(home: Path) -> None:
    text = SOURCE.read_text().splitlines()
    line = 1 + next(number for number, one in enumerate(text) if "! step" in one)
    lines = []
    for condition in CONDITIONS:
        stop = f"break parts.f90:{line} if .not. ({condition})"
        lines += [f"bisect {condition}", "goto start", stop, "continue", "print i", "delete"]
    said = in_console(home, "job", lines)
    for number, (condition, (step, changed)) in enumerate(CONDITIONS.items()):
        found, stopped = said[6 * number], said[6 * number + 4]
        changes = 1 + next(n for n, one in enumerate(text) if one.startswith(f"    {changed}"))
        assert f"parts.f90:{changes}" in found and "turned false" in found, (condition, found)
        assert "%" not in condition or re.search(rf"= {step}\n", stopped), (condition, stopped)


def test_values(home: Path) -> None:
    stop = ["goto start", "find-event i == 5"]
    said = in_console(home, "job", [*stop, *(f"print {text}" for text in PRINTED), "plot z%im"])[2:]
    for (text, value), answer in zip(PRINTED.items(), said, strict=False):
        assert f" = {value}\n" in answer, (text, answer)
    assert re.search(r"\b10\b", said[-1]), said[-1]


def test_truths_of_c(tmp_path: Path, build_text: Callable[..., Path]) -> None:
    program = build_text("truths", TRUTHS)
    assert run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program).returncode == 0
    stop = ["goto start", "break truths.c:8 if s.early == false", "continue", "print i"]
    said = in_console(tmp_path, "job", ["bisect s.early == true", "print i", *stop])
    assert "turned false in rank 0" in said[0] and "= 5" in said[1], said
    assert "= 5" in said[-1], said
