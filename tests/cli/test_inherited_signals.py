"""Signals ignored and blocked by whoever starts `rdb` are so in the program, as without rdb."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import Build

RDB = str(Path(sys.executable).parent / "rdb")
ALL, NONE, ODD, EVEN = "f" * 16, "0", "5" * 16, "a" * 16
MASKS = [(ALL, NONE), (NONE, ALL), (ODD, EVEN), (EVEN, ODD)]


def said(*command: str) -> str:
    done = deadlines.run(command, 100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program_s(text: str) -> str:
    """Without 32 and 33, which libc's posix_spawn, as make uses it, leaves ignored."""
    return re.sub("[0-9a-f]{16}", lambda mask: f"{int(mask[0], 16) & ~(3 << 31):016x}", text)


@pytest.mark.parametrize(("ignored", "blocked"), MASKS)
def test_run_and_restart(
    tmp_path: Path,
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    ignored: str,
    blocked: str,
) -> None:
    """A branch has what the recording had, whoever restarts it."""
    monkeypatch.setenv("RDB_HOME", str(tmp_path / "home"))
    program = str(build("signals_inherited.c", "-O1"))
    say = [program, "say"]
    natively = said(program, ignored, blocked, *say)
    assert said(program, ignored, blocked, RDB, "run", "--", *say) == natively
    natively = said(program, ignored, blocked, *say, "again")
    run = said(program, ignored, blocked, RDB, "run", "--name", "job", "--", *say, "again")
    assert run == natively
    branch = said(program, blocked, ignored, RDB, "restart", "job", "--at", "20", "--name", "new")
    assert branch and natively.endswith(branch)


@pytest.mark.parametrize(
    "starter",
    ["trap '' PIPE; exec", "trap '' PIPE XFSZ; exec", "trap '' XFSZ HUP INT CHLD;", "nohup"],
)
def test_shells(tmp_path: Path, build: Build, starter: str) -> None:
    say = f"{build('signals_inherited.c', '-O1')} say again"
    run = f"RDB_HOME={tmp_path}/home {RDB} run -- {say}"
    natively, ours = (said("sh", "-c", f"{starter} env {line}") for line in (say, run))
    assert program_s(ours) == program_s(natively)


def test_make(tmp_path: Path, build: Build) -> None:
    say = f"{build('signals_inherited.c', '-O1')} say again"
    (tmp_path / "makefile").write_text(
        f"native:\n\t@{say}\nrdb:\n\t@RDB_HOME={tmp_path}/home {RDB} run -- {say}\n"
    )
    make = ["make", "--no-print-directory", "-C", str(tmp_path)]
    assert program_s(said(*make, "rdb")) == program_s(said(*make, "native"))


@pytest.mark.parametrize("ignored", [NONE, "1001000"])
def test_ranks(tmp_path: Path, build: Build, ignored: str) -> None:
    """What a launcher makes of them, it makes of them under rdb."""
    program = str(build("signals_inherited.c", "-O1"))
    launch = [str(shutil.which("mpirun")), "--allow-run-as-root", "--oversubscribe", "-n", "1"]
    natively = said(program, ignored, NONE, *launch, program, "say", "again")
    home = ["/usr/bin/env", f"RDB_HOME={tmp_path}/home"]
    ranks = [*launch, *home, RDB, "exec", "--", program, "say", "again"]
    assert said(program, ignored, NONE, *ranks) == natively
    run = [*home, RDB, "run", "-n", "1", "--", program, "say", "again"]
    assert said(program, ignored, NONE, *run) == natively
