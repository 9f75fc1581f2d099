"""Clusters on one machine: hosts with network, name, /tmp, /dev/shm, IPC, processes of their own.

Nothing outside is touched: namespaces have no names, and are gone with the process that made them.
"""

# What `make test-cluster` installs.
PACKAGES = (
    "iproute2 util-linux openssh-server openssh-client "
    "slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge lammps"
)
