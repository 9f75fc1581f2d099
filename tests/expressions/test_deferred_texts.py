"""Texts of deferred length in Fortran types: what the program itself prints, in each command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import in_console
from printed import expect_printed

SOURCE = "deferred.f90"
# In the order in which step() prints them.
COMPARISONS = [
    "x%label == 'disc'",
    "other%label /= 'disc'",
    "other%parts(2)%label == 'second'",
    "other%alias == 'room'",
    "other%parts(other%n)%label == other%label",
    "one%label == ''",
]


def line(name: str) -> str:
    lines = enumerate((PROGRAMS / SOURCE).read_text().splitlines(), start=1)
    return f"{SOURCE}:{next(at for at, one in lines if one.endswith(f'! here: {name}'))}"


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_what_the_program_printed(tmp_path: Path, build: Build, level: str) -> None:
    expect_printed(tmp_path, build(SOURCE, level), COMPARISONS)


def test_each_command(tmp_path: Path, build: Build) -> None:
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", build(SOURCE, "-O0"))
    assert done.returncode == 0, done.stderr
    steps = [
        ("start", ""),
        ("print one%label", "label is not allocated or not associated"),
        ("print one%label == 'disc'", "label is not allocated or not associated"),
        ("find-event write --next", ""),
        ("print one%label", "= 'disc'"),
        ("print other%parts(2)%label", "= 'second one'"),
        ("print trim(one%label) == trim(one%parts(one%n)%label)", "= .TRUE."),
        ("last one%label", re.escape(line("label"))),
        ("goto start", ""),
        ("find-event write and one%label == 'a longer text'", ""),
        ("print one%alias", "= 'room'"),
        ("bisect one%label == 'disc'", re.escape(line("longer"))),
        ("break items::step if other%label == ''", "members of Fortran types"),
        ("continue", "deferred.f90:18"),
        ("print one%alias", "= 'long hall'"),
        ("up", ""),
        ("reverse-next", ""),
        ("print one%label", "= ''"),
    ]
    said = in_console(tmp_path, "job", [command for command, _ in steps])
    for (command, wanted), answer in zip(steps, said, strict=True):
        assert re.search(wanted, answer), f"{command}: {answer}"
