"""Which MPI is below the program: the one that the user names, else the launcher's.

The program may be built for another MPI: rdb-exec gets the stubs of all ABIs. Imported at every
rank's start: it imports little.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rdb.errors import MissingTool, Usage
from rdb.home import home
from rdb.launch.program import in_path

# The name of each ABI's stub is that of the library it stands for.
_STUBS = (
    os.path.join("openmpi", "libmpi.so.40"),
    os.path.join("mpich", "libmpich.so.12"),
    os.path.join("mpi-abi", "libmpi_abi.so.1"),
)
_BUILT = ("openmpi", "mpich")
_SET_UP = ".mpi"  # in the store, which only its owner can write to
ABOUT = "about"


def launcher_mpi(env: Mapping[str, str]) -> str | None:
    """The MPI whose launcher started this process, if one did."""
    if "OMPI_COMM_WORLD_RANK" in env:
        return "openmpi"
    if "PMI_RANK" in env and "PMIX_RANK" not in env:
        return "mpich"
    return None


def set_up_dir(env: Mapping[str, str]) -> str:
    """The directory in which `rdb setup-mpi` builds."""
    return os.path.join(home(env), _SET_UP)


def set_up(env: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Name -> the `about` file of each MPI set up: family, version, mpicc, bin, launcher."""
    folder = set_up_dir(env)
    found = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        try:
            with open(os.path.join(folder, name, ABOUT), encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            continue  # it is being built
        found[name] = dict(line.split("=", 1) for line in lines if "=" in line)
    return found


def family_of(name: str) -> str:
    """`openmpi` or `mpich` of an MPI that rdb has."""
    return set_up(os.environ).get(name, {}).get("family", name)


def flavours(lib: str, env: Mapping[str, str]) -> dict[str, str]:
    """Name -> lower library of each MPI that exists: built with rdb, or set up later."""
    found = {name: os.path.join(lib, "mpi", name, "lower.so") for name in _BUILT}
    found.update({n: os.path.join(set_up_dir(env), n, "lower.so") for n in set_up(env)})
    return {name: path for name, path in found.items() if os.path.exists(path)}


def launcher_set_up(env: Mapping[str, str]) -> str | None:
    """The name of the MPI that was set up and whose launcher is our parent process; else None."""
    family = launcher_mpi(env)
    if family is None:
        return None
    try:
        parent = os.path.realpath(f"/proc/{os.getppid()}/exe")
    except OSError:
        return None
    for name, about in set_up(env).items():
        if about.get("family") == family and os.path.dirname(parent) == about.get("bin"):
            return name
    return None


def check_mpi(asked: str, lib: str, env: Mapping[str, str]) -> str:
    """ASKED itself.  Usage: there is no such MPI; the error lists all."""
    there = flavours(lib, env)
    if asked not in there:
        known = ", ".join(there) or "none"
        hint = f"rdb has: {known}; `rdb setup-mpi` adds one"
        raise Usage(f"--mpi {asked}: rdb has no library for this MPI", hint)
    return asked


def mpi_options(asked: str | None, lib: str, env: Mapping[str, str]) -> list[str]:
    """Options of rdb-exec: the lower library and the stubs."""
    there = flavours(lib, env)
    wanted = asked or env.get("RDB_MPI")
    if wanted:
        name: str | None = check_mpi(wanted, lib, env)
    else:
        # without a launcher any MPI will do
        name = launcher_set_up(env) or launcher_mpi(env) or next(iter(there), None)
    options = ["--mpi-lower", there[name]] if name in there else []
    for stub in _STUBS:
        path = os.path.join(lib, "mpi", stub)
        if os.path.exists(path):
            options += ["--mpi-stub", path]
    return options


def find_mpirun(asked: str | None) -> tuple[str, bool]:
    """The launcher of the MPI ASKED (None: the one in PATH), and whether it is Open MPI's."""
    known = set_up(os.environ).get(asked or "")
    if known is not None:
        return known["launcher"], known["family"] == "openmpi"
    names = [f"mpirun.{asked}", f"mpiexec.{asked}", "mpirun"] if asked else ["mpirun"]
    path = next((found for found in map(in_path, names) if found), None)
    if path is None:
        package = "mpich" if asked == "mpich" else "openmpi-bin"
        raise MissingTool(f"{names[0]} is not in PATH", f"install {package}, or drop -n")
    return path, not is_hydra(path)


def is_hydra(launcher: str) -> bool:
    """Whether it is MPICH's: a link to mpiexec.hydra (Open MPI's: to orterun or prterun)."""
    return "hydra" in os.path.basename(os.path.realpath(in_path(launcher) or launcher))
