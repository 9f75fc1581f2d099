"""A recorded thread that takes a lock again as soon as it has released it lets others have it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Build, Rdb, replay_agrees

PROGRAM = Path(__file__).parents[1] / "programs/greedy_lock.c"
ROUNDS = 300
EVENTS_A_ROUND = 20_000
"""Some slices' worth."""
REPLAYS = 3


@pytest.mark.parametrize("flag", ["-O0", "-O2"])
@pytest.mark.parametrize("kind", ["mutex", "omp", "spin"])
def test_others_get_the_lock(kind: str, flag: str, build: Build, rdb: Rdb) -> None:
    program = build(PROGRAM, flag, "-fopenmp")
    done = rdb("run", "--name", kind, "--", program, kind, ROUNDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(sum(range(ROUNDS)))]
    said = {replay_agrees(rdb, kind) for _ in range(REPLAYS)}
    assert len(said) == 1
    events = re.search(r"(\d+) events", said.pop())
    assert events and int(events[1]) < ROUNDS * EVENTS_A_ROUND
