"""Descriptors of the lower half, which the program can neither close nor see."""

from __future__ import annotations

import subprocess
from pathlib import Path

import deadlines
from conftest import Build, Rdb

INTERPOSER = Path(__file__).resolve().parents[2] / "interposer"


def test_any_number_of_them(build: Build) -> None:
    flags = ("-std=gnu17", "-D_GNU_SOURCE", "-mfsgsbase", f"-I{INTERPOSER}")
    done = deadlines.run([build("descriptors_many.c", *flags)], 60)
    assert done.stdout == "200 -1\n"


def test_none_is_open_for_the_program(rdb: Rdb, build: Build) -> None:
    program = build("open_numbers.c", "-O1")
    native = deadlines.native([program], stdin=subprocess.DEVNULL).stdout
    done = rdb("run", "--name", "job", "--", program)
    assert (done.returncode, done.stdout) == (0, native), done.stderr
    assert rdb("replay", "job", "--verify").returncode == 0
