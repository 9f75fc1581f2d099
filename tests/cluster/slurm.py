"""Debian's Slurm: a controller on the head, slurmd on each other host, a munge key of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.host import Host, need, until
from cluster.network import network

# ProctrackType and TaskPlugin do without control groups.
_CONF = """ClusterName=nodes
SlurmctldHost={head}({address})
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=2
ReturnToService=2
SlurmctldPort=16817
SlurmdPort=16818
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
StateSaveLocation={folder}/state
SlurmdParameters=config_overrides
SlurmdLogFile={folder}/slurmd.%n.log
MinJobAge=600
KillWait=30
NodeName=DEFAULT CPUs=4 RealMemory=1000 State=UNKNOWN
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm_hosts(count: int, folder: Path, shared: Sequence[Path] = ()) -> Iterator[list[Host]]:
    """The head first."""
    need("slurmctld", "slurmd", "srun", "munged")
    folder.chmod(0o755)
    (folder / "state").mkdir()
    with network(count, folder, "slurm", shared) as hosts, ExitStack() as stack:
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        nodes = hosts[1:]
        (folder / "slurm.conf").write_text(
            _CONF.format(
                folder=folder,
                head=hosts[0].name,
                address=hosts[0].address,
                nodes="\n".join(f"NodeName={one.name} NodeAddr={one.address}" for one in nodes),
                names=",".join(one.name for one in nodes),
            )
        )
        # else slurmd looks for control groups, and does not start without
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        # Open MPI 4.1 under --mpi=pmix starts reliably only without direct connections
        env = {"SLURM_CONF": str(folder / "slurm.conf"), "SLURM_PMIX_DIRECT_CONN": "false"}
        for host in hosts:
            host.env.update(env)

        def daemon(host: Host, *line: str) -> subprocess.Popen[str]:
            log = folder / f"{line[0]}.{host.name}.out"
            started = host.start(*line, cwd=folder, output=log)
            stack.callback(started.wait)
            stack.callback(host.lose)
            return started

        for host in hosts:  # each has its own
            host.run("mkdir", "-p", "-m", "755", "/run/munge")
            own = folder / f"munged.{host.name}"
            daemon(
                *(host, "munged", "--force", "--foreground", f"--key-file={key}"),
                *(f"--pid-file={own}.pid", f"--log-file={own}.log", f"--seed-file={own}.seed"),
            )
        for host in hosts:
            until("munged", lambda host=host: host.run("munge", "-n").returncode == 0)
        daemon(hosts[0], "slurmctld", "-D")
        for host in nodes:
            daemon(host, "slurmd", "-D", "-N", host.name)
        until("all nodes idle", lambda: _idle(hosts[0]) == count)
        yield hosts


def _idle(head: Host) -> int:
    done = head.run("sinfo", "-h", "-t", "idle", "-o", "%D")
    return int(done.stdout.strip() or 0)
