"""Steps back through the rest of a line are one request to a replica: the same stops as one
instruction at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, GdbError, Recorded

SOURCE = "line_loops.c"
NAMES = ("loop", "calls", "recursion", "inlined", "do", "events", "inside", "end")
COMMANDS = (
    *("reverse-step", "reverse-next", "reverse-step 3", "reverse-next 2", "step", "next"),
    *("reverse-stepi 9", "reverse-finish", "reverse-stepi"),
)
Loops = Callable[..., Recorded]


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Loops:
    def record(optimisation: str, *arguments: str) -> Recorded:
        folder = tmp_path_factory.mktemp("loops")
        return Recorded(folder, build(SOURCE, optimisation), PROGRAMS / SOURCE, *arguments)

    return record


@contextmanager
def at_the_end(program: Recorded, by_lines: bool = True) -> Iterator[Gdb]:
    with program.gdb() as gdb:
        if not by_lines:
            for name in ("reverse-step", "reverse-next"):
                gdb.run(f"python gdb.execute('define hook-{name}\\nend')")
        gdb.run(f"tbreak {program.at('end')}")
        gdb.run("continue")
        gdb.expect_at(program.at("end"))
        yield gdb


def here(gdb: Gdb) -> tuple[object, ...]:
    frames = [(frame.get("func"), frame.get("line"), frame["addr"]) for frame in gdb.frames()]
    return gdb.state()["position"], frames


def refused(gdb: Gdb, command: str) -> bool:
    try:
        gdb.run(command)
    except GdbError:
        return True
    return False


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
def test_the_stops_are_those_of_single_instructions(loops: Loops, optimisation: str) -> None:
    program = loops(optimisation)
    chosen = random.Random(optimisation)
    with at_the_end(program) as gdb, at_the_end(program, by_lines=False) as single:
        assert here(gdb) == here(single)
        for number in range(50):
            command = chosen.choices(COMMANDS, (6, 6, 2, 2, 1, 1, 1, 1, 1))[0]
            before = []
            if number % 20 == 9:
                before = [f"tbreak {program.at(chosen.choice(NAMES))}"]
            elif number % 20 == 14:
                pc = gdb.integer("$pc") - chosen.choice((4, 8, 12))
                before = [f"break *{pc}", "watch total" if chosen.random() < 0.5 else "delete"]
            elif number % 20 == 19:
                before = ["delete", f"tbreak {program.at('end')}", "continue"]
            for one in (*before, command):
                assert refused(gdb, one) == refused(single, one)
            assert here(gdb) == here(single), (number, command)


def test_a_line_of_many_instructions_is_few_requests(loops: Loops, tmp_path: Path) -> None:
    program = loops("-O0", "50000")
    packets = tmp_path / "packets"
    with program.gdb() as gdb:
        gdb.run(f"tbreak {program.at('calls')}")
        gdb.run("continue")
        for line in (f"file {packets}", "debugredirect on", "enabled on"):
            gdb.run(f"set logging {line}")
        gdb.run("set debug remote 1")
        gdb.run("reverse-next")
        gdb.run("set debug remote 0")
        gdb.run("set logging enabled off")
        gdb.expect_at(program.at("loop"))
    asked = packets.read_text().count("Sending packet: $bs#")
    assert 0 < asked < 100, asked  # one by one: hundreds of thousands
