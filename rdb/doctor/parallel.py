"""MPI implementations, rdb's lower parts for them, Slurm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine
from rdb.launch.mpi import set_up, set_up_dir
from rdb.paths import mpi_dir

_GROUP = "parallel"


@dataclass(frozen=True)
class Flavour:
    name: str
    soname: str  # of the library that its programs need
    folder: str  # of rdb's lower and stub libraries for it
    package: str
    said_by: str  # matches its version in the output of mpirun --version


FLAVOURS = (
    Flavour("Open MPI", "libmpi.so.40", "openmpi", "libopenmpi-dev", r"Open MPI\)? (\S+)"),
    Flavour("MPICH", "libmpich.so.12", "mpich", "libmpich-dev", r"HYDRA[\s\S]*?Version:\s+(\S+)"),
)
# Debian has both launchers, under their own names.
_LAUNCHERS = ("mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "mpiexec.hydra")
_COMPILERS = ("mpicc", "mpicc.openmpi", "mpicc.mpich")


def launcher(machine: Machine) -> Iterator[Finding]:
    path = machine.which("mpirun")
    if path is None:
        meaning = "`rdb run -n` needs it to start ranks"
        remedy = "apt-get install openmpi-bin"
        yield Finding(_GROUP, "mpirun", State.DEGRADED, "not in PATH", meaning, remedy)
        return
    code, text = machine.output(path, "--version")
    line = text.splitlines()[0] if text else ""
    meaning = "starts the ranks of `rdb run -n`"
    if code == 0:
        yield Finding(_GROUP, "mpirun", State.OK, f"{path}: {line}", meaning)
    else:
        detail = f"{path}: exit {code}: {line[:60]}"
        yield Finding(_GROUP, "mpirun", State.DEGRADED, detail, meaning, "reinstall the MPI")


def flavours(machine: Machine) -> Iterator[Finding]:
    found = [finding for flavour in FLAVOURS for finding in _flavour(machine, flavour)]
    if not found:
        meaning = "programs without MPI can be recorded, MPI programs not"
        remedy = f"apt-get install {FLAVOURS[0].package}, then build rdb again"
        found = [Finding(_GROUP, "MPI", State.DEGRADED, "none found", meaning, remedy)]
    yield from found


def others(machine: Machine) -> Iterator[Finding]:
    """MPIs for which `rdb setup-mpi` has built a lower library."""
    for name, about in set_up(machine.env).items():
        lower = Path(set_up_dir(machine.env)) / name / "lower.so"
        detail = f"{about.get('mpicc')}; rdb run --mpi {name}"
        code, text = machine.output("ldd", str(lower))
        if code == 0 and "not found" not in text:
            yield Finding(_GROUP, name, State.OK, detail, "rdb's library for it is built")
        else:
            meaning = "rdb's library for it does not find the MPI's own library"
            remedy = f"rdb setup-mpi --name {name} --mpicc {about.get('mpicc')}"
            yield Finding(_GROUP, name, State.DEGRADED, detail, meaning, remedy)


def _flavour(machine: Machine, flavour: Flavour) -> Iterator[Finding]:
    library = machine.has_library(flavour.soname)
    parts = [flavour.soname] if library else []
    for name in _LAUNCHERS:
        path = machine.which(name)
        version = re.search(flavour.said_by, machine.output(path, "--version")[1]) if path else None
        if version:
            parts.append(f"{name} {version.group(1)}")
            break
    for name in _COMPILERS:
        path = machine.which(name)
        if path and _compiles_for(machine, path, flavour):
            parts.append(name)
            break
    if not parts:
        return
    state, meaning, remedy = _our_side(machine, flavour, library)
    yield Finding(_GROUP, flavour.name, state, ", ".join(parts), meaning, remedy)


def _compiles_for(machine: Machine, mpicc: str, flavour: Flavour) -> bool:
    """Open MPI's wrapper knows --showme, MPICH's does not."""
    code, _ = machine.output(mpicc, "--showme:version")
    return (code == 0) == (flavour.folder == "openmpi")


def _our_side(machine: Machine, flavour: Flavour, library: bool) -> tuple[State, str, str]:
    lower = mpi_dir(flavour.folder) / "lower.so"
    if not lower.exists():
        remedy = f"build rdb where {flavour.package} is installed"
        meaning = f"rdb was built without it: {flavour.name} programs cannot be recorded"
        return State.DEGRADED, meaning, remedy
    if not library:
        remedy = f"apt-get install {flavour.package}"
        return State.DEGRADED, f"rdb's library for it finds no {flavour.soname}", remedy
    code, text = machine.output("ldd", str(lower))
    if code == 0 and "not found" in text:
        lost = ", ".join(line.split()[0] for line in text.splitlines() if "not found" in line)
        return State.DEGRADED, f"rdb's library for it does not find {lost}", "build rdb again"
    return State.OK, "rdb's library for it is built and finds the MPI", ""


def slurm(machine: Machine) -> Iterator[Finding]:
    path = machine.which("srun")
    if path is None:
        meaning = "only needed where jobs are started with srun"
        yield Finding(_GROUP, "Slurm", State.OK, "no srun", meaning)
        return
    sinfo = machine.which("sinfo")
    version = machine.first_line(sinfo or path, "--version")
    if version is None:
        detail, meaning = f"{path} finds no cluster", "`srun rdb exec` cannot start ranks"
        remedy = "use a machine of the cluster, or set SLURM_CONF"
        yield Finding(_GROUP, "Slurm", State.DEGRADED, detail, meaning, remedy)
    else:
        meaning = "ranks are recorded with `srun rdb exec -- PROG`"
        yield Finding(_GROUP, "Slurm", State.OK, version, meaning)


PROBES = (launcher, flavours, others, slurm)
