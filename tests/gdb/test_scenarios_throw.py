"""Row 17: a throw and a longjmp across three frames, looked at from where they landed.

GDB's own `reverse-next` at the catch does not stop at the statement that led to the throw: it sets
a breakpoint at the start of the function that it came from, for that function's frame, but the
unwinder left that function in another frame.  It is the same with GDB's `record full`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Recorded
from scenario import everything, go

STACK = ["deepest", "middle", "upper", "main"]
Made = Callable[[str], Recorded]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Made:
    def record(source: str) -> Recorded:
        program = build(source, "-O0")
        done = Recorded(tmp_path_factory.mktemp("throw"), program, PROGRAMS / source)
        assert done.done.returncode == 0, done.done.stderr
        return done

    return record


def test_row_17_reverse_step_at_the_catch_is_the_throw(made: Made) -> None:
    program = made("scenario_throw.cc")
    with program.gdb() as gdb:
        go(gdb, program, "catch")
        assert gdb.frames()[-1]["func"] == "main"
        # The line of the handler, the runtime that throws, the throw.
        for _ in range(3):
            gdb.run("reverse-step")
            if gdb.function() == "deepest":
                break
        gdb.expect_at(program.at("throw"))
        assert [frame["func"] for frame in gdb.frames()] == STACK
        assert gdb.integer("n") == 8


@pytest.mark.parametrize("source", ["scenario_throw.cc", "scenario_jump.c"])
def test_row_17_back_to_every_frame_that_was_left(made: Made, source: str) -> None:
    program = made(source)
    with program.gdb() as gdb:
        go(gdb, program, "catch")
        caught = everything(gdb)
        places = ("throw", "middle", "upper", "try")
        for place in places:
            gdb.run(f"break {program.at(place)}")
        for depth, place in enumerate(places):
            gdb.run("reverse-continue")
            gdb.expect_at(program.at(place))
            assert [frame["func"] for frame in gdb.frames()] == STACK[depth:]
            assert gdb.integer("before" if place == "try" else "n") == (8, 7, 6, 6)[depth]
        for _ in places:
            gdb.run("undo")
        assert everything(gdb) == caught
