"""Threads that wait by looking at memory."""

from __future__ import annotations

from pathlib import Path

import deadlines
from conftest import Rdb, replay_agrees

PROGRAM = Path(__file__).parents[2] / "bench/programs/spins.c"


SLICE_MS = 60_000
"""Longer than the test: whoever gives way has been seen to spin."""


STEPS = {"ep": 5, "cg": 40, "ft": 20, "bt": 20, "lu": 4, "lock": 60, "trylock": 60, "flags": 40}


REPLAYS = 3


def result(said: str) -> str:
    return said.split()[2]


def gives_way(program: Path, kernel: str, rdb: Rdb) -> None:
    command = [str(program), kernel, str(STEPS[kernel]), "2"]
    native = deadlines.native(command).stdout
    done = rdb("run", "--slice", SLICE_MS, "--name", kernel, "--", *command)
    assert done.returncode == 0, done.stderr
    assert result(done.stdout) == result(native)
    assert len({replay_agrees(rdb, kernel) for _ in range(REPLAYS)}) == 1
