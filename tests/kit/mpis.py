"""The MPIs that rdb was built for, by name: their compilers, launchers, and stubs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import mpijob
import pytest
from mpijob import Job

from rdb.paths import lib_dir, mpi_dir

MPICC = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}
MPIRUN = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", *("--mca", "btl", "self,vader")],
    "mpich": ["mpirun.mpich"],
}


def needs(*names: str) -> None:
    for name in names:
        for tool in (MPICC[name], MPIRUN[name][0]):
            if shutil.which(tool) is None:
                pytest.skip(f"no {tool}: install {name}")
        if not (mpi_dir(name) / "lower.so").exists():
            pytest.skip(f"rdb was built without {name}")


def stubs() -> list[str | Path]:
    words: list[str | Path] = []
    for stub in sorted(lib_dir().glob("mpi/*/lib*.so.*")):
        if stub.is_file():
            words += ["--mpi-stub", stub]
    return words


def launch(mpi: str, ranks: int, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return mpijob.launch(MPIRUN[mpi], ranks, *command)


def record(tmp_path: Path, lower: str, ranks: int, *command: str | Path) -> Job:
    mpi = ["--mpi-lower", mpi_dir(lower) / "lower.so", *stubs()]
    return mpijob.record(tmp_path, ranks, *command, mpi=mpi, launcher=MPIRUN[lower])
