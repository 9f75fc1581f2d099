"""rdb setup-mpi: the side below programs, built with another MPI's own compiler."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Build, Rdb

from rdb.errors import MissingTool, RdbError, Usage
from rdb.launch.setup_mpi import build as set_up


@pytest.mark.slow
def test_a_program_runs_over_an_mpi_that_was_set_up(rdb: Rdb, build: Build) -> None:
    """Debian's MPICH stands for another MPI."""
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("no mpicc.mpich: install libmpich-dev")
    done = rdb("setup-mpi", "--mpicc", "mpicc.mpich", "--name", "site", "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert (made["name"], made["family"], made["launcher"]) == (
        "site",
        "mpich",
        "/usr/bin/mpirun.mpich",
    )
    program = build("mpi/ring.c")
    done = rdb("run", "--mpi", "site", "--name", "ring", "-n", "2", "--hash-every", "1", program)
    assert done.returncode == 0, done.stderr
    done = rdb("replay", "ring", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "site" in rdb("doctor").stdout
    done = rdb("run", "--mpi", "elsewhere", "-n", "2", program)
    assert "rdb has: openmpi, mpich, site; `rdb setup-mpi` adds one" in done.stderr


def _compiler(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_what_is_no_mpi_is_said_in_a_line(tmp_path: Path, rdb_home: Path) -> None:
    with pytest.raises(MissingTool, match="cannot find"):
        set_up(str(tmp_path / "mpicc"))
    broken = _compiler(tmp_path / "broken", "echo 'mpi.h: error: no such file' >&2; exit 1")
    with pytest.raises(RdbError, match=r"broken failed: mpi\.h: error: no such file"):
        set_up(broken)
    mute = _compiler(tmp_path / "mute", "exit 0")
    with pytest.raises(RdbError, match="does not say which MPI"):
        set_up(mute)
    works = _compiler(tmp_path / "works", "echo rdb_is openmpi 9 . 1")
    for name in ("openmpi", "../x", "-n"):
        with pytest.raises(Usage, match="cannot name an MPI"):
            set_up(works, name)
    assert not (rdb_home / ".mpi").exists()
