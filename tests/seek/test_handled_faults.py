"""The program handles its own faults: stops, steps and searches go on behind them.  GDB stops at a
fault as at other signals, unless it is told not to."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import QUIET, Gdb, Recorded
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
        gdb.run(QUIET)
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
        gdb.run(QUIET)
        gdb.run("break *(long)&on_fault")
        gdb.run("continue")
        assert gdb.integer("rounds") == 1
        gdb.run("continue")
        assert gdb.integer("rounds") == 2


@pytest.mark.parametrize("then", ["jump", "return"])
@pytest.mark.parametrize("way", WAYS[:-1])  # SIGTRAP is how GDB itself stops
def test_gdb_stops_before_the_handler_both_ways(faults: Faults, way: str, then: str) -> None:
    def stops(motion: str) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        while " of the recording" not in (said := gdb.run(motion)):
            signal = re.search(r"received signal (\w+)", said)
            state = gdb.state()["position"], gdb.registers()
            found.append((signal and signal[1], gdb.integer("rounds"), *state))
        return found

    program = faults(way, then)
    name = {"divide": "SIGFPE", "illegal": "SIGILL"}.get(way, "SIGSEGV")
    with program.gdb() as gdb:
        there = stops("continue")
        assert [one[:2] for one in there] == [(name, turn) for turn in range(1, ROUNDS + 1)]
        assert stops("reverse-continue") == there[::-1]
        gdb.run("break on_fault")
        there = stops("continue")
        assert [one[0] for one in there] == [name, None] * ROUNDS
        assert stops("reverse-continue") == there[::-1]
        gdb.run("delete")
        gdb.run("continue")
        fault = gdb.integer("(long)$pc")
        gdb.expect_at(program.at(way))
        if way == "load":
            assert gdb.integer("$_siginfo._sifields._sigfault.si_addr") == 8
        gdb.run("stepi")
        assert gdb.integer("(long)$pc == (long)&on_fault") == 1
        gdb.run("reverse-stepi")
        assert gdb.integer("(long)$pc") == fault
        for _ in range(2):
            gdb.run("continue")
            assert gdb.integer("rounds") == 2
            gdb.run("undo")
        gdb.run("set var handled = 7")  # a branch
        gdb.run("continue")
        assert (gdb.integer("rounds"), gdb.integer("handled")) == (2, 8)
        gdb.run("continue")
        assert (gdb.integer("rounds"), gdb.integer("handled")) == (3, 9)


def test_the_fault_that_ends_a_program_has_its_siginfo(
    tmp_path: Path, build_text: Callable[..., Path]
) -> None:
    made = build_text("ends", "int main(void) { return *(volatile int *)24; }")
    program = Recorded(tmp_path, made, tmp_path / "ends.c")
    with program.gdb() as gdb:
        gdb.run("continue")
        for _ in range(2):
            assert gdb.integer("$_siginfo.si_signo") == 11
            assert gdb.integer("$_siginfo.si_code") == 1  # SEGV_MAPERR
            assert gdb.integer("$_siginfo._sifields._sigfault.si_addr") == 24
            gdb.run("goto END")
