"""Commands that start a program on the hosts of a job, by ssh or in an allocation of Slurm."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence

from rdb.errors import MissingTool
from rdb.home import home

# Never ask for a password; notice a host that is gone.
_SSH = ["ssh", "-x", "-oBatchMode=yes", "-oConnectTimeout=20", "-oServerAliveInterval=10", "--"]


def by_ssh(host: str, words: Sequence[str]) -> list[str]:
    """Starts WORDS on HOST, with this store.  Raises MissingTool."""
    _need("ssh", "openssh-client")
    return [*_SSH, host, shlex.join(["env", f"RDB_HOME={home()}", *words])]


def by_srun(
    allocation: str, nodes: int, words: Sequence[str], options: Sequence[str] = ()
) -> list[str]:
    """Starts WORDS once on each of NODES nodes of ALLOCATION (srun(1)).  Raises MissingTool."""
    _need("srun", "slurm-client")
    line = ["srun", "--overlap", "--jobid", allocation, "-N", str(nodes), "-n", str(nodes)]
    return [*line, "--ntasks-per-node=1", "--mpi=none", "--quiet", *options, *words]


def _need(tool: str, package: str) -> None:
    if shutil.which(tool) is None:
        raise MissingTool(f"{tool} is not in PATH", f"install {package}")
