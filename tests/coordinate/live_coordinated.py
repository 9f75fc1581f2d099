"""Checkpoints without a log at random moments, and a restart from each: `make test-live`.

RDB_TEST_LIVE says how many; no part of `make test`.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import RANKS, Running, sums

from rdb.coordinate.coordinated import committed, take
from rdb.errors import RdbError
from rdb.recording import open_job

MANY = min(int(os.environ.get("RDB_TEST_LIVE", "10")), 10)
PROGRAMS = {"coordinated_mpi": 400, "coordinated_windows": 400, "coordinated_objects": 400}
# Three ranks that spin on two processors take 17 ms for a step over MPICH, and a restart has two
# minutes: there are more jobs then, none of them longer.
MOST_STEPS = {"openmpi": 1 << 30, "mpich": 400}
DEADLINE_S, CHECKPOINT_S = 300.0, 120


@pytest.mark.parametrize("mpis", [("openmpi", "mpich"), ("mpich", "openmpi")], ids=lambda x: x[0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_random_moments(name: str, mpis: tuple[str, str], tmp_path: Path, build: Build) -> None:
    """Steps are begun until all checkpoints are taken; the sums are those of a run without any.

    Each goes on over the other MPI.
    """
    ranks = RANKS + RANKS % 2 if name == "coordinated_objects" else RANKS
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moment = random.Random(seed)
    program = str(build(f"mpi/{name}.c"))
    (tmp_path / "gate").touch()
    steps, taken = PROGRAMS[name], dict[Running, int]()
    while sum(taken.values()) < MANY:  # longer, or once more, if it was over before the last
        if taken and steps * 4 <= MOST_STEPS[mpis[1]]:
            steps, taken = steps * 4, {}
        line = ("--keep", "1000", "--mpi", mpis[0], "-n", str(ranks), "--")
        line = (*line, program, str(steps), "gate")
        job = Running(tmp_path / "home", tmp_path, f"job-{steps}-{len(taken)}", *line)
        job.until_all_run()
        taken[job] = 0
        while job.process.poll() is None and sum(taken.values()) < MANY:
            time.sleep(moment.random() / 10)
            try:
                take(open_job(job.home / job.name), CHECKPOINT_S)
            except RdbError as error:
                over = ("ended", "does not run", "has called MPI_Finalize")
                assert any(word in str(error) for word in over), error
            else:
                taken[job] += 1
        said, told = deadlines.communicate(job.process, DEADLINE_S)
        assert job.process.returncode == 0, told
    whole = sums(said)
    assert len(whole) == ranks
    reference = Running(job.home, tmp_path, "whole", *line[2:])
    assert sums(deadlines.communicate(reference.process, DEADLINE_S)[0]) == whole
    for job, asked in taken.items():
        numbers = [one.number for one in committed(job.home / job.name)]
        print(f"{len(numbers)} checkpoints of {name}, {steps} steps")
        assert len(numbers) >= asked
        for number in numbers:
            again = job.rdb("restart", job.name, "--at", f"ckpt:{number}", "--mpi", mpis[1])
            assert again.returncode == 0, again.stderr
            assert sums(again.stdout) == whole, f"ckpt:{number}, seed {seed}"
