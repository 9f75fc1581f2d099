"""The command lines that rdb starts: rdb-exec for a rank, mpirun for a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rdb.errors import MissingTool
from rdb.launch.mpi import (
    check_mpi,
    family_of,
    find_mpirun,
    flavours,
    mpi_options,
    set_up,
)
from rdb.launch.program import in_path
from rdb.launch.programs import Started

# The same as rdb/paths.py, whose pathlib costs every rank 3 ms. A real path: rdb-exec finds its
# stub among the mapped files by the kernel's name.
_LIB = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "_lib"))

# --cpu of rdb-exec: the highest level that the program sees (base/cpu_features.h).
CPU_CHOICES = ("native", "x86-64-v3", "x86-64-v2")
CHECK_CHOICES = ("sample", "full", "off")
RECORD_CHOICES = ("full", "order", "lean", "off")
LAUNCHERS = ("mpirun", "srun", "ssh")


def lib_dir() -> str:
    return _LIB


def rdb_exec_path() -> str:
    executable = os.path.join(_LIB, "rdb-exec")
    if not os.path.exists(executable):
        raise MissingTool(f"{executable} is missing: rdb is not built", "run `make dev`")
    return executable


def rdb_exec_line(
    rank_dir: str,
    files_dir: str,
    rank: int,
    program: str,
    arguments: Sequence[str],
    options: Sequence[str] = (),
    mpi: str | None = None,
) -> list[str]:
    """The command line with which rdb-exec records one rank.

    OPTIONS: options that `rdb exec` and rdb-exec share; MPI: the real MPI that the user chose.
    """
    line = [rdb_exec_path(), "--dir", rank_dir, "--files", files_dir, "--rank", str(rank)]
    line += options
    line += mpi_options(mpi, _LIB, os.environ)
    lower = os.path.join(_LIB, "verbs", "verbs.so")
    stub = os.path.join(_LIB, "verbs", "libibverbs.so.1")
    if os.path.exists(lower):
        line += ["--verbs-lower", lower, "--verbs-stub", stub]
    stub = os.path.join(_LIB, "verbs", "librdmacm.so.1")
    if os.path.exists(stub):
        line += ["--cm-stub", stub]
    return [*line, "--", program, *arguments]


def own_command() -> list[str]:
    """The command of this rdb, for launchers; it needs neither PATH nor a shell."""
    beside = os.path.join(os.path.dirname(sys.executable), "rdb")
    return [beside] if os.path.exists(beside) else [sys.executable, "-m", "rdb"]


Part = tuple[int, Sequence[str], Sequence[str]]
"""Of a command that mpirun starts: its ranks, its own arguments of mpirun, its words."""


def mpirun_line(
    parts: Sequence[Part],
    mpi: str | None,
    once: Sequence[str] = (),
    each: Sequence[str] = (),
    crowd: bool = True,
) -> list[str]:
    """The command line for commands side by side.

    ONCE, EACH: arguments of mpirun, once for all and for each command. CROWD: all ranks may be on
    this host.
    """
    mpirun, openmpi = find_mpirun(mpi)
    crowded = crowd and sum(ranks for ranks, _, _ in parts) > len(os.sched_getaffinity(0))
    wide = ["--oversubscribe"] if openmpi and crowded and "--oversubscribe" not in once else []
    line = [_as_typed(mpirun) if crowd else mpirun]
    for number, (ranks, extra, words) in enumerate(parts):
        line += [":"] if number else []
        line += ["-n", str(ranks), *([] if number else [*wide, *once]), *each, *extra, *words]
    return line


def _as_typed(launcher: str) -> str:
    """The launcher as its user types it.

    Open MPI's mpirun puts its own directories before PATH and LD_LIBRARY_PATH of the ranks if it is
    started by an absolute path (mpirun(1), --prefix): another python3 than the user's would run.
    """
    name = os.path.basename(launcher)
    return name if in_path(name) == launcher else launcher


def exec_words(one: Started, options: Sequence[str], called: str) -> list[str]:
    """The command that records a rank of a program, which the rank finds by CALLED, its argv[0]."""
    return [*own_command(), "exec", *options, "--", called, *one.arguments]


def chosen_mpi(asked: str | None) -> str | None:
    """The MPI that the user or RDB_MPI names; None: the launcher's."""
    asked = asked or os.environ.get("RDB_MPI")
    return check_mpi(asked, _LIB, os.environ) if asked else None


def restart_mpi(asked: str | None, before: str, launched: bool) -> str | None:
    """The MPI of a restart: what the user names, else the one of BEFORE if it is here.

    None: the launcher's.
    """
    chosen = chosen_mpi(asked)
    if chosen or before not in flavours(_LIB, os.environ):
        return chosen
    if launched:
        try:
            openmpi = find_mpirun(before)[1]
        except MissingTool:
            return None
        if openmpi != (family_of(before) == "openmpi"):
            return None
    return before


def launched_mpi(mpi: str | None) -> str:
    """The name of the MPI that runs if MPI is chosen; None: that of mpirun in PATH."""
    if mpi:
        return mpi
    launcher, openmpi = find_mpirun(None)
    bin_of = {about.get("bin"): name for name, about in set_up(os.environ).items()}
    return bin_of.get(os.path.dirname(os.path.realpath(launcher))) or (
        "openmpi" if openmpi else "mpich"
    )


def mpirun_environment() -> dict[str, str]:
    """The environment for mpirun; Open MPI runs as root only with these two variables."""
    env = dict(os.environ)
    if os.geteuid() == 0:
        env.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
        env.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    return env
