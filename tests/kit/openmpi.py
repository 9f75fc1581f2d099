"""What tests tell Open MPI; releases 4 and 5 have different names for it."""

from __future__ import annotations

import functools
import os
import re
import subprocess

# A rank that ends with another exit code than 0 is no reason to end the others.
ANY_EXIT_CODE = {
    "OMPI_MCA_orte_abort_on_non_zero_status": "0",
    "PRTE_MCA_state_base_error_non_zero_exit": "0",
}
# More processes than processors, also those of MPI_Comm_spawn.
OVERSUBSCRIBE = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":OVERSUBSCRIBE",
}
# Release 5 asks the kernel for the way to another process of the same host, hears of the loopback
# interface, which it leaves out, and finds none to the processes of MPI_Comm_spawn.
REACHABLE = {"OMPI_MCA_reachable": "weighted"}
# Release 5 reduces wrongly by node between worlds that have not started each other.
REDUCES = {"OMPI_MCA_coll": "^han"}


@functools.cache
def release() -> int:
    """4 or 5."""
    said = subprocess.run(["mpirun.openmpi", "--version"], capture_output=True, text=True)
    found = re.search(r"(\d+)\.\d+\.\d+", said.stdout)  # "(OpenRTE) 4.1.4", "(Open MPI) 5.0.7"
    assert found is not None, said
    return int(found[1])


@functools.cache
def several_commands() -> bool:
    """Whether this mpirun starts them: 5.0.7's crashes, also in MPI_Comm_spawn_multiple."""
    line = ["mpirun.openmpi", "-n", "1", "true", ":", "-n", "1", "true"]
    ended = subprocess.run(line, env={**os.environ, **OVERSUBSCRIBE}, capture_output=True)
    return ended.returncode == 0


def windows() -> str:
    """The components for windows: osc/rdma of release 4 crashes, also without rdb."""
    return "pt2pt,sm" if release() < 5 else "rdma,sm"
