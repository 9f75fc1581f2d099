"""Fortran's trim() in comparisons: what the program itself prints, in each command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from gdbdriver import Gdb, in_console
from printed import expect_printed

# In the order in which step() prints them.
COMPARISONS = [
    "trim(mine) == 'abc'",
    "trim(title) == 'third'",
    "trim(of%label) == 'firstx'",
    "trim(s) /= 'arg'",
    "trim(of%parts(2)) == trim(mine)",
    "'abc' == trim(mine)",
    "trim(mine) == s",
    "trim(title) == 'third' .and. i > 2",
    ".not. trim(mine) == 'abc'",
    "trim(' abc') == mine",
    "trim(mine) .ne. 'two''s'",
    "mine(6:7) == ''",
]
THIRD = "trim(title) == 'third'"


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_what_the_program_printed(tmp_path: Path, build: Build, level: str) -> None:
    expect_printed(tmp_path, build("trims.f90", level), COMPARISONS)


def test_each_command(tmp_path: Path, build: Build) -> None:
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", build("trims.f90", "-O0"))
    assert done.returncode == 0, done.stderr
    steps = [
        ("bisect trim(title) /= 'third'", "Changed by trims.f90:19"),
        ("goto start", ""),
        (f"break words::step if {THIRD}", ""),
        ("continue", "i=4"),
        ("delete", ""),
        ("goto start", ""),
        ("find-event write --next", ""),
        (f"watch {THIRD}", re.escape(THIRD)),
        ("continue", "trims.f90:(19|20)"),
        ("delete", ""),
        (f"display {THIRD}", rf"{re.escape(THIRD)} = \.TRUE\."),
    ]
    said = in_console(tmp_path, "job", [command for command, _ in steps])
    for (command, expected), answer in zip(steps, said, strict=True):
        assert re.search(expected, answer) and "branch" not in answer, f"{command}: {answer}"


ALONE = ["trim(title)", "trim(of%label)", "trim(s)", "trim(of%parts(3))"]
TEXTS = ["first", "firstx", "arg", ""]


def test_a_trim_alone(tmp_path: Path, build: Build) -> None:
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", build("trims.f90", "-O0"))
    assert done.returncode == 0, done.stderr
    steps = [
        ("goto start", ""),
        ("find-event write --next", ""),
        *((f"print {one}", f"= '{text}'\n") for one, text in zip(ALONE, TEXTS, strict=True)),
        ("display trim(title)", r"1: trim\(title\) = 'first'\n"),
        ("watch trim(title)", re.escape("trim(title)")),
        ("continue", r"Old value = 'first'\nNew value = 'thirt'\n"),
        ("next", r"New value = 'third'\n(.*\n)*1: trim\(title\) = 'third'"),
    ]
    said = in_console(tmp_path, "job", [command for command, _ in steps])
    for (command, expected), answer in zip(steps, said, strict=True):
        assert re.search(expected, answer) and "branch" not in answer, f"{command}: {answer}"
    with Gdb("job", home=tmp_path) as gdb:  # at its own prompt
        gdb.run("find-event write --next")
        for one, text in zip(ALONE, TEXTS, strict=True):
            assert f"= '{text}'\n" in gdb.run(f"print {one}")
