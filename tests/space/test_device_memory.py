"""Memory that an RDMA device writes: what is looked at when, and forks of who has such memory."""

from __future__ import annotations

from pathlib import Path

import deadlines
from conftest import Build

from rdb.paths import rdb_exec_path

INTERPOSER = Path(__file__).resolve().parents[2] / "interposer"
REAL = Path(rdb_exec_path()).parent / "verbs/real/verbs-real.so"


def said(*command: str | Path) -> str:
    return deadlines.native(command, check=False).stdout


def test_what_is_looked_at(build: Build) -> None:
    flags = ("-std=gnu17", "-D_GNU_SOURCE", "-mfsgsbase", "-msse4.2", f"-I{INTERPOSER}")
    assert said(build("device_memory.c", *flags)) == "ok\n"


def test_what_a_completion_tells_of(build: Build) -> None:
    folders = ("", "/verbs", "/verbs/lower")
    flags = (
        "-std=gnu17",
        "-D_GNU_SOURCE",
        "-mfsgsbase",
        *(f"-I{INTERPOSER}{one}" for one in folders),
    )
    assert said(build("told.c", *flags)) == "ok\n"


def test_a_kernel_that_takes_memory_away_at_a_fork(build: Build) -> None:
    """Before Linux 5.12: libibverbs says so, and checkpoints are not taken by forking then."""
    program = build("verbs_fork_status.c", f"-I{INTERPOSER}/verbs", "-rdynamic", "-ldl")
    # disabled, enabled, not needed: passed on; ibv_fork_init(3): only where it is asked for
    assert said(program, REAL) == "111 1 1 -22 2\n"
