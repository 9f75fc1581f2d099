"""The floating-point environment around a call of the MPI library: what the library computes
leaves no trace that a replay would lack, and what the program has set and raised stays
(psABI 3.2.3; fenv.h)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import run_rdb

from rdb.recording import open_job


def wanted() -> list[str]:
    """By fenv.h: a flag stays until it is cleared, and a callback has the flags of its caller."""
    lines = ["start: control 37f 1f80, raised 0", "initialized: control 37f 1f80, raised 0"]
    for control, raised in (("37f 1f80", 0), ("b7f 5f80", 0), ("37f 1f80", 0x10)):
        for where, more in (("sum", 0), ("callback", 0), ("own operation", 0x0C)):
            lines.append(f"{where}: control {control}, raised {raised | more:x}")
    return lines


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_x87_and_mxcsr_are_the_programs(
    mpi: str, tmp_path: Path, rdb_home: Path, build: Callable[..., Path]
) -> None:
    compiler = "mpicc" if mpi == "openmpi" else "mpicc.mpich"
    program = build("mpi/float_environment.c", compiler=compiler)
    line = ["run", "--mpi", mpi, "--hash-every", "1", "-n", "2", "--name", "job"]
    done = run_rdb(rdb_home, tmp_path, *line, "--", str(program))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(wanted() * 2)
    replayed = run_rdb(rdb_home, tmp_path, "replay", "job", "--verify")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_each_thread_keeps_its_own(
    tmp_path: Path, rdb_home: Path, build: Callable[..., Path]
) -> None:
    program = build("mpi/float_threads.c", "-pthread")
    every = ["--hash-every", "1", "--checkpoint-every", "30events"]
    done = run_rdb(
        rdb_home, tmp_path, "run", *every, "-n", "2", "--name", "job", "--", str(program)
    )
    assert done.returncode == 0, done.stderr
    same = "control b7e mxcsr 5f20 status 4000, 60 looks, 0 others"
    assert done.stdout.splitlines() == [same] * 2
    replayed = run_rdb(rdb_home, tmp_path, "replay", "job", "--verify", "--checkpoint", "all")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr

    rank = open_job(str(rdb_home / "job")).rank(0)
    middle = rank.last_event // 2
    restarted = run_rdb(rdb_home, tmp_path, "restart", "job", "--at", str(middle))
    assert restarted.returncode == 0, restarted.stderr
    assert restarted.stdout.splitlines()[-2:] == [same] * 2


def test_a_debugger_sees_it_inside_a_call(
    tmp_path: Path, rdb_home: Path, build: Callable[..., Path]
) -> None:
    program = build("mpi/float_threads.c", "-pthread")
    done = run_rdb(rdb_home, tmp_path, "run", "-n", "2", "--name", "job", "--", str(program))
    assert done.returncode == 0, done.stderr
    script = tmp_path / "script"
    script.write_text(
        "find-event mpi.send --prev\nprint/x $fctrl\nprint/x $fstat\nprint/x (int)$mxcsr\n"
    )
    shown = run_rdb(rdb_home, tmp_path, "attach", "job", "--rank", "0", "-x", str(script))
    assert "inside PMPI_Send" in shown.stdout
    assert re.findall(r"= (0x\w+)", shown.stdout) == ["0xb7e", "0x4000", "0x5f20"], shown.stdout
