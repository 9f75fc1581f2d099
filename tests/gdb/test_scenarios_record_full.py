"""Against GDB's own `record full`: the same reverse commands stop at the same instructions.

It records a stretch without instructions that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import go, moved

COMMANDS = (
    *("reverse-step",) * 12,
    *("reverse-next",) * 3,
    *("step", "reverse-stepi", "reverse-step", "stepi 5", "reverse-nexti 3", "next"),
    *("reverse-next", "step", "step", "step", "reverse-finish", "stepi", "finish"),
    *("reverse-step",) * 30,
    *("next 2", "reverse-next", "step 9", "reverse-step 5", "reverse-next", "reverse-stepi"),
)


@pytest.fixture(scope="module")
def program(build: Build) -> Path:
    return build("scenario_motion.c", "-O0")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Recorded:
    source = PROGRAMS / "scenario_motion.c"
    return Recorded(tmp_path_factory.mktemp("full"), program, source)


@pytest.fixture
def peer(recorded: Recorded, program: Path) -> Iterator[Gdb]:
    """GDB alone, recording from the first statement of the stretch."""
    with Gdb() as gdb:
        gdb.run(f"file {program}")
        gdb.run("set environment LD_BIND_NOW=1")
        gdb.run(f"tbreak {recorded.at('main-prepare')}")
        gdb.run("run")
        gdb.run("record full")
        gdb.run(f"tbreak {recorded.at('after-twice')}")
        gdb.run("continue")
        gdb.expect_at(recorded.at("after-twice"))
        yield gdb
        gdb.run("kill")


def here(gdb: Gdb) -> tuple[object, ...]:
    frames = [(frame.get("func"), frame.get("line")) for frame in gdb.frames()]
    return gdb.run("info symbol $pc").partition(" in section")[0], *frames


def test_reverse_commands_are_those_of_gdb(recorded: Recorded, peer: Gdb) -> None:
    with recorded.gdb() as gdb:
        go(gdb, recorded, "after-twice")
        for number, command in enumerate(COMMANDS):
            assert here(gdb) == here(peer), f"before {number}: {command}"
            said, expected = gdb.run(command), peer.run(command)
            assert moved(said) == moved(expected)
        assert here(gdb) == here(peer)
