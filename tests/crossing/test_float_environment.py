"""The floating-point environment around a call of the MPI library: what the library computes
leaves no trace that a replay would lack, and what the program has set and raised stays
(psABI 3.2.3; fenv.h)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import run_rdb


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
