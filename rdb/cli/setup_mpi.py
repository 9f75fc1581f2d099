"""`rdb setup-mpi`: builds rdb's lower part for another MPI."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rdb.cli.output import print_json
from rdb.launch.setup_mpi import build


def setup_mpi_command(args: argparse.Namespace) -> int:
    made = build(args.mpicc, args.name)
    if args.json:
        print_json(asdict(made))
        return 0
    print(f"{made.name}: {made.family} {made.version} of {made.mpicc}")
    print(f"rdb run --mpi {made.name} -n 4 -- PROG, or under its own launcher, {made.launcher}")
    return 0
