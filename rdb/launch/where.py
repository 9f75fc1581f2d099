"""Which rank of which job this process is, from the environment that the launcher sets."""

from __future__ import annotations

import os
from collections.abc import Mapping

# The order matters: under salloc + mpirun, SLURM_PROCID is the daemon's, not the rank's.
_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMIX_SIZE", "PMI_SIZE", "SLURM_NTASKS")


class Where:
    """A rank's place.

    No dataclass: the import of dataclasses costs every rank 5 ms.
    """

    __slots__ = ("_env", "launcher", "nranks", "rank")

    def __init__(
        self, rank: int, nranks: int | None, launcher: str, env: Mapping[str, str] | None = None
    ) -> None:
        """ENV: the rank's own environment; None: this process is not the rank."""
        self.rank = rank
        self.nranks = nranks
        self.launcher = launcher  # "none", "mpirun" or "srun"
        self._env = env

    @property
    def key(self) -> str | None:
        """The same for all ranks of a launch, and different between launches; None: no launcher
        has started this process."""
        return None if self._env is None else _key(self._env, self.launcher)


def where(env: Mapping[str, str]) -> Where:
    """The place of this process; without a launcher it is rank 0 of its own job."""
    name = next((n for n in _RANK if env.get(n, "").isdigit()), None)
    if name is None:
        return Where(0, None, "none")
    size = next((env[n] for n in _SIZE if env.get(n, "").isdigit()), None)
    launcher = "srun" if _by_srun(env) else "mpirun"
    return Where(int(env[name]), int(size) if size else None, launcher, env)


def _by_srun(env: Mapping[str, str]) -> bool:
    """Not by an mpirun whose daemons on other nodes srun has started."""
    space = env.get("PMIX_NAMESPACE", "slurm.")  # slurm.pmix.JOB.STEP, or mpirun's own
    return (
        "SLURM_STEP_ID" in env and "OMPI_MCA_orte_hnp_uri" not in env and space.startswith("slurm.")
    )


def _key(env: Mapping[str, str], launcher: str) -> str:
    if launcher == "srun":
        # Ids repeat with a new controller; srun's ports differ.
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
        # Namespaces repeat when process ids do; the head process's address differs.
        parts = [space, env.get("OMPI_MCA_orte_hnp_uri", "")]
        if not any(parts):
            parts = ["parent", _hydra_port(env) or _parent_identity()]
    import hashlib

    digest = hashlib.sha256("\0".join([launcher, *parts]).encode()).hexdigest()
    return digest[:16]


def _hydra_port(env: Mapping[str, str]) -> str | None:
    """For MPICH on several nodes: the address that its launcher gives to its proxies; else None.

    The ranks' parents are the proxies, one on each node. On one node the parent identifies the
    launch better.
    """
    if env.get("MPI_LOCALNRANKS") == env.get("PMI_SIZE"):
        return None
    with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:
        words = os.fsdecode(file.read()).split("\0")
    if "--control-port" not in words[:-1] or "hydra" not in os.path.basename(words[0]):
        return None
    return words[words.index("--control-port") + 1]


def _parent_identity() -> str:
    """The parent process, told apart from later ones with its id by its start time."""
    parent = os.getppid()
    with open(f"/proc/{parent}/stat", encoding="utf-8", errors="replace") as file:
        start = file.read().rsplit(")", 1)[1].split()[19]  # proc(5): field 22, starttime
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return f"{file.read().strip()}/{parent}/{start}"
