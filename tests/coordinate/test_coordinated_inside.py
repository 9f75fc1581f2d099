"""Checkpoints without a log while a rank waits in a collective that others have not begun."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from conftest import Build
from running import DEADLINE_S, Running, sums

RANKS = 3


@pytest.mark.parametrize("mpi, other", [("openmpi", "mpich"), ("mpich", "openmpi")])
def test_who_waits_in_a_collective_is_held_there(
    mpi: str, other: str, tmp_path: Path, build: Build
) -> None:
    """The others begin it only when both checkpoints are taken; a restart makes the call again."""
    program = str(build("mpi/coordinated_inside.c"))
    one = Running(
        tmp_path / "home",
        tmp_path,
        "inside",
        *("--mpi", mpi, "-n", str(RANKS), "--", program, "gate"),
    )
    for phase in range(2):
        one.until(f"phase {phase}")
        taken = one.rdb("checkpoint", "inside", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
        (tmp_path / f"gate-{phase}").touch()
    said, complaints = deadlines.communicate(one.process, DEADLINE_S)
    assert one.process.returncode == 0, complaints
    told = 1000 + 6 * 3
    whole = [f"rank {rank} sum {6 + 30 * 7 + told * (1 if rank else 3)}" for rank in range(RANKS)]
    assert sums(said) == whole
    for number, at in ((1, mpi), (2, other)):
        done = one.rdb("restart", "inside", "--at", f"ckpt:{number}", "--mpi", at)
        assert done.returncode == 0, done.stderr
        assert sums(done.stdout) == whole
