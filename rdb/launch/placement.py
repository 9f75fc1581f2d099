"""Which launcher starts a job's ranks, and on which hosts: the command line for each of them.

Launchers are the machine's own: mpirun of Open MPI or MPICH (which reach hosts by ssh, or through
the batch system), srun.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from rdb.errors import MissingTool, Usage
from rdb.launch.command import chosen_mpi, mpirun_environment, own_command
from rdb.launch.hosts import Placed, place, read_hosts
from rdb.launch.mpi import find_mpirun
from rdb.private import opener

LAUNCHERS = ("mpirun", "srun", "ssh")

_KEPT = "hosts"  # in the job's directory: the host file that mpirun reads


@dataclass(frozen=True, slots=True)
class Placement:
    ranks: int
    launcher: str = "mpirun"
    hosts: list[Placed] = field(default_factory=list)
    """None named: the launcher decides."""
    mpi: str | None = None
    extra: Sequence[str] = ()

    @property
    def by_ssh(self) -> bool:
        """On hosts that were named: unlike those of a batch system, they need not share a disk."""
        return bool(self.hosts) and self.launcher != "srun"

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.hosts]


def placement(
    ranks: int,
    launcher: str | None,
    hosts_file: str | None,
    mpi: str | None = None,
    extra: Sequence[str] = (),
) -> Placement:
    """What the command line asks for, or a Usage error."""
    launcher = launcher or "mpirun"
    hosts = place(read_hosts(hosts_file), ranks, f"--hosts {hosts_file}") if hosts_file else []
    if launcher == "ssh" and not hosts:
        raise Usage("--launcher ssh needs --hosts FILE")
    return Placement(ranks, launcher, hosts, chosen_mpi(mpi), extra)


def placed_lines(asked: Placement) -> list[str]:
    """Which ranks run where, as a user reads it."""
    lines, first = [], 0
    for one in asked.hosts:
        last = first + one.ranks - 1
        ranks = f"rank {first}" if first == last else f"ranks {first}-{last}"
        lines.append(f"{one.name}: {ranks}")
        first = last + 1
    return lines


def launch(
    asked: Placement, folder: str, command: Sequence[str], env_names: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Command line and environment that start `rdb COMMAND` in every rank.

    FOLDER is the job's directory; ENV_NAMES are to be in every rank's environment.
    """
    env = mpirun_environment()
    words = [*own_command(), *command]
    if asked.launcher == "srun":
        return [*_srun(asked, folder, env), *words], env
    mpirun, openmpi = find_mpirun(asked.mpi)
    line = [mpirun, "-n", str(asked.ranks)]
    if asked.hosts:
        hosts = _host_file(asked, folder, "{} slots={}" if openmpi else "{}:{}")
        line += ["--hostfile", hosts] if openmpi else ["-f", hosts]
    if asked.launcher == "ssh":
        line += ["--mca", "plm", "rsh"] if openmpi else ["-launcher", "ssh"]
    crowded = asked.ranks > len(os.sched_getaffinity(0)) and not asked.hosts
    if openmpi and crowded and "--oversubscribe" not in asked.extra:
        line.append("--oversubscribe")
    if openmpi and asked.hosts:
        # ranks are bound to cores by default, and refused where a host has fewer cores than slots
        line += ["--bind-to", "none"]
        for name in env_names:  # MPICH's passes everything
            line += ["-x", name] if name in env else []
    return [*line, *asked.extra, *words], env


def _srun(asked: Placement, folder: str, env: dict[str, str]) -> list[str]:
    srun = shutil.which("srun")
    if srun is None:
        raise MissingTool("srun is not in PATH", "install slurm-client, or --launcher mpirun")
    line = [srun, "-n", str(asked.ranks)]
    line.append("--mpi=pmi2" if asked.mpi == "mpich" else "--mpi=pmix")
    if asked.hosts:
        # task by task, which is the only way to say that hosts have different numbers of them
        env["SLURM_HOSTFILE"] = _host_file(asked, folder, None)
        line += ["-N", str(len(asked.hosts)), "-m", "arbitrary"]
    # Open MPI 4.1 crashes in some of its starts with them
    env.setdefault("SLURM_PMIX_DIRECT_CONN", "false")
    return [*line, *asked.extra]


def _host_file(asked: Placement, folder: str, form: str | None) -> str:
    path = os.path.join(folder, _KEPT)
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        for one in asked.hosts:
            text = f"{one.name}\n" * one.ranks if form is None else form.format(one.name, one.ranks)
            file.write(text.rstrip("\n") + "\n")
    return path
