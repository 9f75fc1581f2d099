"""Chooses the launcher and the hosts of a job's ranks, and makes the command line.

The launchers are the machine's own: srun, or mpirun of Open MPI or MPICH, which reach hosts by ssh
or through the batch system.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from rdb.errors import MissingTool, Usage
from rdb.launch.command import (
    Part,
    chosen_mpi,
    mpirun_environment,
    mpirun_line,
    own_command,
)
from rdb.launch.hosts import Placed, place, read_hosts
from rdb.launch.mpi import find_mpirun
from rdb.private import opener

_KEPT = "hosts"  # name of mpirun's host file in the job's directory


@dataclass(frozen=True, slots=True)
class Placement:
    ranks: int
    launcher: str = "mpirun"
    hosts: list[Placed] = field(default_factory=list)
    """Empty: the launcher decides."""
    mpi: str | None = None
    extra: Sequence[str] = ()

    @property
    def by_ssh(self) -> bool:
        """Whether hosts are named: these, unlike a batch system's, may share no disk."""
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
    """The placement that the options ask for.  Usage: the options make no sense."""
    launcher = launcher or "mpirun"
    hosts = place(read_hosts(hosts_file), ranks, f"--hosts {hosts_file}") if hosts_file else []
    if launcher == "ssh" and not hosts:
        raise Usage("--launcher ssh needs --hosts FILE")
    return Placement(ranks, launcher, hosts, chosen_mpi(mpi), extra)


def placed_lines(asked: Placement) -> list[str]:
    """One line for each host: its name and its ranks."""
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

    FOLDER: the job's directory. ENV_NAMES: variables that every rank must have.
    """
    words = [*own_command(), *command]
    return launch_all(asked, folder, [(asked.ranks, (), words)], env_names)


def launch_all(
    asked: Placement,
    folder: str,
    parts: Sequence[Part],
    env_names: Sequence[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """The same of several commands side by side.  Usage: srun with several."""
    env = mpirun_environment()
    if asked.launcher == "srun":
        (_, _, words), *others = parts
        if others:
            raise Usage("--launcher srun starts one program, not several", "use mpirun")
        return [*_srun(asked, folder, env), *words], env
    _, openmpi = find_mpirun(asked.mpi)
    once = list(asked.extra)
    if asked.launcher == "ssh":
        once += ["--mca", "plm", "rsh"] if openmpi else ["-launcher", "ssh"]
    each: list[str] = []
    if asked.hosts and openmpi:
        # Open MPI binds ranks to cores, and refuses more slots than cores.
        once += ["--bind-to", "none"]
        each = ["--hostfile", _host_file(asked, folder, "{} slots={}")]
        for name in env_names:  # MPICH's launcher passes all variables
            each += ["-x", name] if name in env else []
    elif asked.hosts:
        once += ["-f", _host_file(asked, folder, "{}:{}")]
    return mpirun_line(parts, asked.mpi, once, each, crowd=not asked.hosts), env


def _srun(asked: Placement, folder: str, env: dict[str, str]) -> list[str]:
    srun = shutil.which("srun")
    if srun is None:
        raise MissingTool("srun is not in PATH", "install slurm-client, or --launcher mpirun")
    line = [srun, "-n", str(asked.ranks)]
    line.append("--mpi=pmi2" if asked.mpi == "mpich" else "--mpi=pmix")
    if asked.hosts:
        # a host for each task: the only way to give hosts different numbers of tasks
        env["SLURM_HOSTFILE"] = _host_file(asked, folder, None)
        line += ["-N", str(len(asked.hosts)), "-m", "arbitrary"]
    # With direct connections some starts of Open MPI 4.1 crash.
    env.setdefault("SLURM_PMIX_DIRECT_CONN", "false")
    return [*line, *asked.extra]


def _host_file(asked: Placement, folder: str, form: str | None) -> str:
    path = os.path.join(folder, _KEPT)
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        for one in asked.hosts:
            text = f"{one.name}\n" * one.ranks if form is None else form.format(one.name, one.ranks)
            file.write(text.rstrip("\n") + "\n")
    return path
