"""The program jumps to where no instruction is: the arrival is there, and each motion finds it."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import QUIET, Gdb, Recorded
from scenario import go

SOURCE = "wild_jumps.c"
WAYS = (
    "null",
    "member",
    "data",
    "constants",
    "heap",
    "none",
    "gone",
    "kernel",
    "half",
    "letters",
    "end",
)
Jumps = Callable[..., Recorded]


@pytest.fixture(scope="module")
def jumps(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Jumps:
    def record(*arguments: str) -> Recorded:
        folder = tmp_path_factory.mktemp("jumps")
        return Recorded(folder, build(SOURCE, "-O0"), PROGRAMS / SOURCE, *arguments)

    return record


def pc(gdb: Gdb) -> int:
    return gdb.integer("(long)$pc")


def in_the_call(gdb: Gdb) -> bool:
    """Does the program stand where it jumped, called by main?"""
    return pc(gdb) == gdb.integer("(long)hook") and "main (" in gdb.run("bt")


@pytest.mark.parametrize("way", WAYS)
def test_a_crash_ends_where_the_program_jumped(jumps: Jumps, way: str) -> None:
    program = jumps(way)
    assert program.done.returncode == 128 + signal.SIGSEGV
    with program.gdb() as gdb:
        gdb.run("goto END")
        assert in_the_call(gdb)
        assert gdb.integer("calls") == 1
        gdb.run("reverse-stepi")
        gdb.expect_at(program.at("call"))
        assert "SIGSEGV" in gdb.run("continue")
        assert in_the_call(gdb)
        assert "Now = 1" in gdb.run("last calls")


@pytest.mark.parametrize("way", (*WAYS, "made"))
def test_a_breakpoint_there_stops_once_at_each_arrival(jumps: Jumps, way: str) -> None:
    program = jumps(way, "handled")
    sums = [6, 13, 21] if way == "made" else [100, 200, 300]
    assert program.done.stdout == f"{sums[-1]}\n"
    before = list(zip([1, 2, 3], [0, *sums], strict=False))
    with program.gdb() as gdb:
        gdb.run(QUIET)
        go(gdb, program, "call")
        gdb.run("break *hook")
        seen = []
        for _ in before:
            gdb.run("continue")
            assert in_the_call(gdb)
            seen.append((gdb.integer("calls"), gdb.integer("total")))
        assert seen == before
        gdb.run("continue")
        assert gdb.state()["at_end"]
        seen = []
        for _ in before:
            gdb.run("reverse-continue")
            assert in_the_call(gdb)
            seen.append((gdb.integer("calls"), gdb.integer("total")))
        assert seen == before[::-1]


@pytest.mark.parametrize("way", WAYS)
def test_an_instruction_there_is_not_carried_out(jumps: Jumps, way: str) -> None:
    program = jumps(way, "handled")
    with program.gdb() as gdb:
        gdb.run(QUIET)
        go(gdb, program, "call")
        gdb.run("tbreak *hook")
        gdb.run("continue")
        gdb.run("stepi")
        assert "on_segv (" in gdb.run("bt 1") and gdb.integer("$rdi") == signal.SIGSEGV
        gdb.run("reverse-stepi")
        assert in_the_call(gdb)
