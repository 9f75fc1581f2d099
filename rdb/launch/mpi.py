"""Which MPI is below the program: the launcher's, unless one is asked for.

The program may be built for another one; the stubs of all ABIs are offered to it.  Imported at
every rank's start: nothing but `os`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rdb.errors import MissingTool, Usage

# Each ABI's stub is known by the name of the library that it stands for.
_STUBS = (
    os.path.join("openmpi", "libmpi.so.40"),
    os.path.join("mpich", "libmpich.so.12"),
    os.path.join("mpi-abi", "libmpi_abi.so.1"),
)
_BUILT = ("openmpi", "mpich")


def launcher_mpi(env: Mapping[str, str]) -> str | None:
    """The MPI whose launcher started this process, if one did."""
    if "OMPI_COMM_WORLD_RANK" in env:
        return "openmpi"
    if "PMI_RANK" in env and "PMIX_RANK" not in env:
        return "mpich"
    return None


def flavours(lib: str) -> dict[str, str]:
    """Name -> real side, of those that are there."""
    found = {name: os.path.join(lib, "mpi", name, "lower.so") for name in _BUILT}
    return {name: path for name, path in found.items() if os.path.exists(path)}


def check_mpi(asked: str, lib: str) -> str:
    """The name itself, or a Usage error that lists what there is."""
    there = flavours(lib)
    if asked not in there:
        known = ", ".join(there) or "none"
        raise Usage(f"--mpi {asked}: no such MPI here", f"there are: {known}")
    return asked


def mpi_options(asked: str | None, lib: str, env: Mapping[str, str]) -> list[str]:
    """Options of rdb-exec: the real side and the stubs."""
    there = flavours(lib)
    wanted = asked or env.get("RDB_MPI")
    if wanted:
        name: str | None = check_mpi(wanted, lib)
    else:
        # without a launcher each is as good as the other
        name = launcher_mpi(env) or next(iter(there), None)
    options = ["--mpi-lower", there[name]] if name in there else []
    for stub in _STUBS:
        path = os.path.join(lib, "mpi", stub)
        if os.path.exists(path):
            options += ["--mpi-stub", path]
    return options


def find_mpirun(asked: str | None) -> tuple[str, bool]:
    """The launcher of that MPI, or the one in PATH; and whether it is Open MPI's."""
    import shutil

    names = [f"mpirun.{asked}", f"mpiexec.{asked}", "mpirun"] if asked else ["mpirun"]
    path = next((found for found in map(shutil.which, names) if found), None)
    if path is None:
        package = "mpich" if asked == "mpich" else "openmpi-bin"
        raise MissingTool(f"{names[0]} is not in PATH", f"install {package}, or drop -n")
    # Open MPI's is orterun or prterun, MPICH's mpiexec.hydra
    return path, "hydra" not in os.path.basename(os.path.realpath(path))
