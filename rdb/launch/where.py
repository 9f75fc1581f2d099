"""Which rank this process is, and of which job: told by the environment that launchers set."""

from __future__ import annotations

import os
from collections.abc import Mapping

# In this order: under salloc + mpirun SLURM_PROCID is the daemon's, not the rank's.
_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMIX_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class Where:
    """A rank's place; `key` is the same for all ranks of one launch and for no other launch.

    No dataclass: dataclasses and what they import would cost every rank 5 ms.
    """

    __slots__ = ("key", "launcher", "nranks", "rank")

    def __init__(self, rank: int, nranks: int | None, launcher: str, key: str | None) -> None:
        self.rank = rank
        self.nranks = nranks
        self.launcher = launcher  # "none", "mpirun" or "srun"
        self.key = key


def where(env: Mapping[str, str]) -> Where:
    """The place of this process; rank 0 of a job of its own where no launcher is."""
    name = next((n for n in _RANK if env.get(n, "").isdigit()), None)
    if name is None:
        return Where(0, None, "none", None)
    size = next((env[n] for n in _SIZE if env.get(n, "").isdigit()), None)
    launcher = "srun" if "SLURM_STEP_ID" in env and "OMPI_MCA_orte_hnp_uri" not in env else "mpirun"
    return Where(int(env[name]), int(size) if size else None, launcher, _key(env, launcher))


def _key(env: Mapping[str, str], launcher: str) -> str:
    if launcher == "srun":
        # Ids start again with a new controller; srun's ports tell such launches apart.
        parts = [
            env.get(name, "")
            for name in (
                "SLURM_CLUSTER_NAME",
                "SLURM_JOB_ID",
                "SLURM_STEP_ID",
                "SLURM_SRUN_COMM_PORT",
                "SLURM_STEP_LAUNCHER_PORT",
            )
        ]
    else:
        space = env.get("PMIX_NAMESPACE") or env.get("OMPI_MCA_ess_base_jobid") or ""
        # The head process' address: namespaces come back when process ids do.
        parts = [space, env.get("OMPI_MCA_orte_hnp_uri", "")]
        if not any(parts):
            parts = ["parent", _hydra_port(env) or _parent_identity()]
    import hashlib

    digest = hashlib.sha256("\0".join([launcher, *parts]).encode()).hexdigest()
    return digest[:16]


def _hydra_port(env: Mapping[str, str]) -> str | None:
    """Of a launch on several nodes by MPICH's launcher: the address that it gives to its proxies.

    Those are the ranks' parents, one a node, so on one node the parent says it better.
    """
    if env.get("MPI_LOCALNRANKS") == env.get("PMI_SIZE"):
        return None
    with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
        words = os.fsdecode(file.read()).split("\0")
    if "--control-port" not in words[:-1] or "hydra" not in os.path.basename(words[0]):
        return None
    return words[words.index("--control-port") + 1]


def _parent_identity() -> str:
    """Parent process, told apart from a later one of the same number by its start time."""
    parent = os.getppid()
    with open(f"/proc/{parent}/stat", encoding="utf-8", errors="replace") as file:
        start = file.read().rsplit(")", 1)[1].split()[19]  # proc(5): field 22, starttime
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}/{parent}/{start}"
