"""Applications of Debian, recorded, each rank replayed alone: same answers, same memory."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build
from melt import melt, thermo
from mpijob import Job, mpirun, record

pytestmark = pytest.mark.apps

TIMEOUT_S = 600
HASH_EVERY = 500  # events; all of memory each time

# Its lines have fixed places: name, value, comment.
HPCC = {"Ns": "200", "NBs": "16", "Ps": "1", "Qs": "2"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One thread a rank; recordings of hundreds of megabytes are not kept."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield tmp_path
    shutil.rmtree(tmp_path / "job", ignore_errors=True)


def needs(program: str) -> str:
    path = shutil.which(program)
    assert path, f"{program} is not installed: make test-apps installs it"
    return path


def recorded(folder: Path, ranks: int, *command: str | Path) -> Job:
    job = record(folder, ranks, *command, hash_every=HASH_EVERY, cwd=folder, timeout_s=TIMEOUT_S)
    assert job.result.returncode == 0, job.result.stderr
    return job


@pytest.mark.parametrize("ranks", [2, 4])
def test_lammps_melt(ranks: int, folder: Path) -> None:
    lmp = needs("lmp")
    (folder / "in.melt").write_text(melt(steps=60, every=20))
    native = mpirun(ranks, lmp, "-in", "in.melt", cwd=folder, timeout_s=TIMEOUT_S)
    atoms = (folder / "dump.melt").read_text()
    (folder / "dump.melt").unlink()
    job = recorded(folder, ranks, lmp, "-in", "in.melt")
    assert len(thermo(native.stdout)) == 4
    assert thermo(job.result.stdout) == thermo(native.stdout)
    assert (folder / "dump.melt").read_text() == atoms
    job.expect_equal()


def test_hpcc(folder: Path) -> None:
    """HPL, PTRANS, RandomAccess, STREAM, FFT, latency and bandwidth: its own checks pass."""
    hpcc = needs("hpcc")
    text = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    for name, value in HPCC.items():
        text = re.sub(rf"(?m)^\S+( +{name}\b)", rf"{value}\1", text)
    (folder / "hpccinf.txt").write_text(text)
    job = recorded(folder, 2, hpcc)
    results = (folder / "hpccoutf.txt").read_text()
    assert "Success=1" in results
    assert "1 tests completed and passed residual checks" in results
    assert re.findall(r"MPIRandomAccess\w*_Errors=(\d+)", results) == ["0", "0"]
    job.expect_equal()


def test_hypre(folder: Path, build: Build) -> None:
    """A solver of Debian's hypre, whose result goes through MPI-IO and a window."""
    program = build(
        "apps/hypre_solver.c", "-O1", "-I/usr/include/hypre", "-lHYPRE", compiler="mpicc"
    )
    native = mpirun(3, program, folder / "native", timeout_s=TIMEOUT_S)
    job = recorded(folder, 3, program, folder / "solution")
    assert job.result.stdout == native.stdout != ""
    assert (folder / "solution").read_bytes() == (folder / "native").read_bytes()
    job.expect_equal()
