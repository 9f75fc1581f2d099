"""The program handles its own faults: stops, steps and searches go on behind them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Gdb, Recorded
from scenario import go

SOURCE = "handled_faults.c"
ROUNDS = 5
WAYS = ("divide", "load", "store", "general", "illegal", "trap")
Faults = Callable[..., Recorded]


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Faults:
    made: dict[tuple[str, str], Recorded] = {}

    def record(*arguments: str) -> Recorded:
        if arguments not in made:
            folder = tmp_path_factory.mktemp("faults")
            program = Recorded(folder, build(SOURCE, "-O0"), PROGRAMS / SOURCE, *arguments)
            assert program.done.stdout == f"{ROUNDS}\n", program.done.stderr
            made[arguments] = program
        return made[arguments]

    return record


def walk(gdb: Gdb, motion: str, times: int, expression: str) -> list[int]:
    seen = []
    for _ in range(times):
        gdb.run(motion)
        seen.append(gdb.integer(expression))
    return seen


def step_to_the_handler(gdb: Gdb, program: Recorded, way: str) -> int:
    """The address of the instruction that faults."""
    go(gdb, program, way)
    for _ in range(20):
        fault = gdb.integer("(long)$pc")
        gdb.run("stepi")
        if "on_fault" in gdb.run("bt 1"):
            return fault
    raise AssertionError("the handler was not entered")


@pytest.mark.parametrize("then", ["jump", "return"])
@pytest.mark.parametrize("way", WAYS)
def test_a_breakpoint_at_the_fault_stops_each_time(faults: Faults, way: str, then: str) -> None:
    program = faults(way, then)
    every = list(range(1, ROUNDS + 1))
    with program.gdb() as gdb:
        fault = step_to_the_handler(gdb, program, way)
        gdb.run("goto START")
        gdb.run(f"break *{fault}")
        assert walk(gdb, "continue", ROUNDS, "rounds") == every
        gdb.run("goto END")
        assert walk(gdb, "reverse-continue", ROUNDS, "rounds") == every[::-1]
        gdb.run("delete")
        gdb.run(f"break {program.at('handler')}")
        assert walk(gdb, "continue", ROUNDS, "rounds") == every
        gdb.run("goto END")
        assert walk(gdb, "reverse-continue", ROUNDS, "rounds") == every[::-1]


@pytest.mark.parametrize("then", ["jump", "return"])
@pytest.mark.parametrize("way", WAYS)
def test_what_the_handler_stores_is_found(faults: Faults, way: str, then: str) -> None:
    program = faults(way, then)
    with program.gdb() as gdb:
        gdb.run("goto END")
        for was in range(ROUNDS - 1, -1, -1):
            gdb.run("last handled")
            gdb.expect_at(program.at("handler"))
            assert gdb.integer("handled") == was
        gdb.run("goto START")
        gdb.run("bisect handled < 3")
        gdb.expect_at(program.at("handler"))
        assert gdb.integer("handled") == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_step_into_the_handler_stops_at_its_first_instruction(faults: Faults, way: str) -> None:
    program = faults(way, "jump")
    with program.gdb() as gdb:
        fault = step_to_the_handler(gdb, program, way)
        assert gdb.integer("(long)$pc == (long)&on_fault") == 1
        gdb.run("reverse-stepi")
        assert gdb.integer("(long)$pc") == fault
        gdb.run("break *(long)&on_fault")
        gdb.run("continue")
        assert gdb.integer("rounds") == 1
        gdb.run("continue")
        assert gdb.integer("rounds") == 2
