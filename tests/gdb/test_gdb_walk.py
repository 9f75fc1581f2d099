"""Random walks by GDB's own commands and the extension's undo and redo."""

from __future__ import annotations

import os

import pytest
from conftest import PROGRAMS, Build
from gdb_walking import GdbWalk, Memory
from gdbdriver import Recorded

# `make test-walk` walks farther, and elsewhere each time.
FACTOR = int(os.environ.get("RDB_TEST_WALK", "1"))
MOVES = 50


@pytest.mark.parametrize(
    ("source", "places", "variables"),
    [
        ("scenario_motion.c", ["fact", "twice", "tick", "stroll"], ["total", "doubled", "values"]),
        ("threads_steps.c", ["work"], ["shared"]),
    ],
)
def test_commands_are_undone_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    build: Build,
    source: str,
    places: list[str],
    variables: list[str],
) -> None:
    program = build(source, "-O0", "-pthread")
    recorded = Recorded(tmp_path_factory.mktemp("walk"), program, PROGRAMS / source)
    memory = Memory()
    for number in range(FACTOR):
        seed = number if FACTOR == 1 else int.from_bytes(os.urandom(4), "little")
        with recorded.gdb() as gdb:
            print(f"seed {seed}")
            GdbWalk(gdb, memory, seed, places, variables).walk(MOVES * (1 if FACTOR == 1 else 5))
    assert memory.moves >= MOVES
    assert memory.undone > memory.moves / 10
    assert memory.compared > memory.moves / 5
