"""`python3 -m cluster packages`: what Debian must have installed.

`python3 -m cluster [-n HOSTS] [--slurm] COMMAND...`: shell lines on the first host, for people.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from cluster import PACKAGES
from cluster.slurm import slurm_hosts
from cluster.ssh import ssh_hosts


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster", usage=__doc__)
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("--slurm", action="store_true")
    parser.add_argument("commands", nargs="+")
    asked = parser.parse_args()
    if asked.commands == ["packages"]:
        print(PACKAGES)
        return 0
    worst = 0
    with tempfile.TemporaryDirectory(prefix="rdb-cluster-") as folder:
        made = slurm_hosts if asked.slurm else ssh_hosts
        with made(asked.n, Path(folder)) as cluster:
            for command in asked.commands:
                done = cluster[0].run("sh", "-c", command, cwd=folder)
                print(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
                worst = worst or done.returncode
    return worst


if __name__ == "__main__":
    sys.exit(main())
