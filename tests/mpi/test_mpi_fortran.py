"""Fortran over MPI: mpif.h, the module mpi, the module mpi_f08, each rank replayed alone.

The program's own Fortran library (MPICH's, Open MPI's) runs in it, over our libmpi.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import openmpi
import pytest
from mpijob import lines
from mpis import launch, needs, record

ANY_OVER_ANY = pytest.mark.parametrize(
    ("upper", "lower"),
    [("mpich", "mpich"), ("mpich", "openmpi"), ("openmpi", "openmpi"), ("openmpi", "mpich")],
)
SOURCES = Path(__file__).resolve().parents[1] / "programs" / "fortran"


def fortran(mpi: str, name: str, tmp_path: Path, *options: str) -> Path:
    compiler, program = f"mpifort.{mpi}", tmp_path / name
    if shutil.which(compiler) is None or shutil.which("gfortran") is None:
        pytest.skip(f"no {compiler}: install {mpi} and gfortran")
    subprocess.run(
        [compiler, *options, "-cpp", "-O1", "-w", "-fallow-argument-mismatch",
         "-J", tmp_path, "-o", program, SOURCES / f"{name}.f90"],
        check=True,
    )  # fmt: skip
    return program


def mpi_4(mpi: str) -> list[str]:
    return ["-DMPI_4"] if mpi == "mpich" or openmpi.release() >= 5 else []


@ANY_OVER_ANY
@pytest.mark.parametrize("way", ["old", "module", "f08"])
def test_answers(
    way: str, upper: str, lower: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants by address, strings, statuses, handles, attributes, the program's own functions."""
    needs(upper, lower)
    monkeypatch.setenv("OMPI_MCA_osc", openmpi.windows())
    program = fortran(upper, way, tmp_path)
    native = launch(upper, 2, program)
    assert native.returncode == 0, native.stderr
    assert "0:   2.00  2.00  2.00   1 101 fortran" in lines(native)
    job = record(tmp_path, lower, 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@ANY_OVER_ANY
def test_info(upper: str, lower: str, tmp_path: Path) -> None:
    """The Fortran library of Open MPI 5 asks libmpi's own functions, by strings of libopen-pal."""
    needs(upper, lower)
    program = fortran(upper, "info", tmp_path, *mpi_4(upper))
    native = launch(upper, 1, program)
    assert native.returncode == 0, native.stderr
    assert "second get [" + "x" * 30 + "] T" in lines(native)
    job = record(tmp_path, lower, 1, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_integers(mpi: str, tmp_path: Path) -> None:
    """Functions of generalized requests; attributes of MPI-1, copied and deleted by callbacks; a
    file; other functions of MPI-1; requests that the Fortran library of Open MPI 5 looks into."""
    needs(mpi)
    program = fortran(mpi, "integers", tmp_path, *mpi_4(mpi))
    native = launch(mpi, 1, program, tmp_path / "data")
    assert native.returncode == 0, native.stderr
    assert len(lines(native)) == 12, native.stdout
    job = record(tmp_path, mpi, 1, program, tmp_path / "data")
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_handles_that_no_function_has_given(mpi: str, tmp_path: Path) -> None:
    """The Fortran library of Open MPI converts what a call is about to set, too."""
    needs(mpi)
    program = fortran(mpi, "high_handle", tmp_path)
    native = launch(mpi, 1, program)
    assert native.returncode == 0, native.stderr
    job = record(tmp_path, mpi, 1, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()
