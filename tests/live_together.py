"""Checkpoints without a log at random moments, and a restart from each: `make test-live`.

RDB_TEST_LIVE says how many; no part of `make test`.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from conftest import Build
from test_together import RANKS, Running, sums

from rdb.live.coordinated import committed

MANY = min(int(os.environ.get("RDB_TEST_LIVE", "10")), 10)
PROGRAMS = {"together_mpi": 400, "together_windows": 400, "together_objects": 400}
DEADLINE_S = 300.0


@pytest.mark.parametrize("mpis", [("openmpi", "mpich"), ("mpich", "openmpi")], ids=lambda x: x[0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_moments(name: str, mpis: tuple[str, str], tmp_path: Path, build: Build) -> None:
    """Steps are begun until all checkpoints are taken; the sums are those of a run without any.

    Each goes on over the other MPI.
    """
    ranks = RANKS + RANKS % 2 if name == "together_objects" else RANKS
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moment = random.Random(seed)
    program = str(build(f"mpi/{name}.c"))
    (tmp_path / "gate").touch()
    taken, steps = 0, PROGRAMS[name]
    while taken < MANY:  # longer, if it was over before the last
        taken = 0
        line = (
            "--keep",
            "1000",
            "--mpi",
            mpis[0],
            "-n",
            str(ranks),
            "--",
            program,
            str(steps),
            "gate",
        )
        job = Running(tmp_path / "home", tmp_path, f"job-{steps}", *line)
        job.until_all_run()
        while job.process.poll() is None and taken < MANY:
            time.sleep(moment.random() / 2)
            done = job.rdb("checkpoint", job.name, "--timeout", "120")
            over = "ended" in done.stderr or "has called MPI_Finalize" in done.stderr
            assert done.returncode == 0 or job.process.poll() is not None or over, done.stderr
            taken += done.returncode == 0
        said, told = job.process.communicate(timeout=DEADLINE_S)
        assert job.process.returncode == 0, told
        steps *= 4
    whole = sums(said)
    assert len(whole) == ranks
    reference = Running(job.home, tmp_path, "whole", *line[2:])
    assert sums(reference.process.communicate(timeout=DEADLINE_S)[0]) == whole
    numbers = [one.number for one in committed(job.home / job.name)]
    print(f"{len(numbers)} checkpoints of {name}, {steps // 4} steps")
    assert len(numbers) >= taken
    for number in numbers:
        again = job.rdb("restart", job.name, "--at", f"ckpt:{number}", "--mpi", mpis[1])
        assert again.returncode == 0, again.stderr
        assert sums(again.stdout) == whole, f"ckpt:{number}, seed {seed}"
