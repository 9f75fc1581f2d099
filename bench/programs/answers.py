"""Steps of an allreduce each: answers.py STEPS.  An array's element turns before the end."""

import sys

import numpy as np  # type: ignore[import-not-found,unused-ignore]
from mpi4py import MPI  # type: ignore[import-not-found,unused-ignore]


def run(steps: int) -> None:
    energy, dt = np.ones((16, 16)), np.ones(1)
    for step in range(steps):
        MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, dt, MPI.MAX)  # `allreduce` is a dozen events
        if step == steps // 2:
            energy[3, 7] = -1.0


run(int(sys.argv[1]))
