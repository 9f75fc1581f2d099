"""Pointers to what is not there, and structures that clone3 does not take: what the kernel says."""

from __future__ import annotations

import re
from pathlib import Path

import deadlines
import pytest
from conftest import Build, Rdb
from inputs import INTERPOSER, rows

TABLE = (INTERPOSER / "arch/x86_64/answer/syscall_numbers.def").read_text()
NUMBERS = dict(re.findall(r"^NR\((\w+), (\d+)\)", TABLE, re.MULTILINE))


@pytest.mark.parametrize("record", ["full", "off"])
def test_as_the_kernel_says(build: Build, rdb: Rdb, tmp_path: Path, record: str) -> None:
    """Of each call that is known to read strings, each one."""
    calls = {
        name: [place for kind, place in reads if kind == "STR"]
        for name, reads in rows().items()
        if any(kind == "STR" for kind, _ in reads)
    }
    assert len(calls) > 80
    with (tmp_path / "bad_pointers.def").open("w") as table:
        for name, places in calls.items():
            ends = ", ".join(map(str, (places + [-1] * 4)[:4]))
            print(f"CALL({name}, {NUMBERS[name]}, {{{ends}}})", file=table)
    program = build("bad_pointers.c", "-O1", "-D_GNU_SOURCE", f"-I{tmp_path}")
    native = deadlines.native([program])
    assert native.stdout.count("EFAULT") > 200
    done = rdb("run", "--name", "job", f"--record={record}", "--", program)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    if record == "full":
        replayed = rdb("replay", "job")
        assert replayed.returncode == 0, replayed.stderr


@pytest.mark.parametrize("record", ["full", "off"])
def test_any_argument(build: Build, rdb: Rdb, record: str) -> None:
    program = build("bad_arguments.c", "-O1", "-D_GNU_SOURCE")
    native = deadlines.native([program])
    assert native.stdout.count("EFAULT") > 600
    done = rdb("run", "--name", "job", f"--record={record}", "--", program)
    assert (done.returncode, done.stdout.splitlines()) == (0, native.stdout.splitlines()), (
        done.stderr
    )
    if record == "full":
        replayed = rdb("replay", "job")
        assert replayed.returncode == 0, replayed.stderr


@pytest.mark.parametrize("record", ["full", "off"])
def test_short_buffers(build: Build, rdb: Rdb, record: str) -> None:
    program = build("short_buffers.c", "-O1")
    native = deadlines.native([program])
    assert "select: 1  " in native.stdout
    done = rdb("run", "--name", "job", f"--record={record}", "--", program)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    if record == "full":
        replayed = rdb("replay", "job", "--verify")
        assert replayed.returncode == 0, replayed.stderr
