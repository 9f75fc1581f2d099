"""Rows 1-4: GDB's reverse commands into calls, over them and out of them."""

from __future__ import annotations

import pytest
from gdbdriver import Gdb, Recorded
from scenario import go, line_of, moved


def test_row_1_reverse_finish_in_a_recursion(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("break fact if n == 2")
    gdb.run("continue")
    assert gdb.integer("n") == 2
    depth = gdb.depth()
    assert moved(gdb.run("reverse-finish"))
    gdb.expect_at(recorded.at("fact-call"))
    assert gdb.function() == "fact"
    assert gdb.integer("n") == 3
    assert gdb.depth() == depth - 1
    # It is the call itself: one instruction further is the callee again.
    gdb.run("stepi")
    assert gdb.depth() == depth
    assert gdb.integer("$pc") == gdb.integer("&fact")


def test_row_1_reverse_finish_up_the_whole_recursion(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"tbreak {recorded.at('fact-first')} if n == 1")
    gdb.run("continue")
    depth = gdb.depth()
    for up in range(1, 5):
        gdb.run("reverse-finish")
        gdb.expect_at(recorded.at("fact-call"))
        assert (gdb.integer("n"), gdb.depth()) == (1 + up, depth - up)
    gdb.run("reverse-finish")
    gdb.expect_at(recorded.at("main-fact"))
    assert (gdb.function(), gdb.depth()) == ("main", depth - 5)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_row_1_reverse_finish_after_deeper_calls(gdb: Gdb, recorded: Recorded, n: int) -> None:
    """Also where the frame itself has called the function and got its answer."""
    gdb.run(f"tbreak {recorded.at('fact-end')} if n == {n}")
    gdb.run("continue")
    assert gdb.integer("n") == n
    depth = gdb.depth()
    gdb.run("reverse-finish")
    if n == 5:
        gdb.expect_at(recorded.at("main-fact"))
        assert gdb.function() == "main"
    else:
        gdb.expect_at(recorded.at("fact-call"))
        assert gdb.integer("n") == n + 1
    assert gdb.depth() == depth - 1
    gdb.run("undo")
    gdb.expect_at(recorded.at("fact-end"))
    assert (gdb.integer("n"), gdb.depth()) == (n, depth)


def test_row_1_reverse_finish_stops_at_a_breakpoint_between(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"tbreak {recorded.at('fact-end')} if n == 3")
    gdb.run("continue")
    gdb.run(f"break {recorded.at('fact-first')} if n < 3")
    gdb.run("reverse-finish")
    gdb.expect_at(recorded.at("fact-first"))
    assert gdb.integer("n") == 1
    # And at one that is right where GDB's own would be.
    gdb.run("delete")
    gdb.run("break *fact")
    gdb.run("reverse-continue")
    assert (gdb.integer("$pc"), gdb.integer("$rdi")) == (gdb.integer("&fact"), 1)
    gdb.run("reverse-stepi")
    gdb.run("reverse-finish")
    assert (gdb.integer("$pc"), gdb.integer("$rdi")) == (gdb.integer("&fact"), 2)
    gdb.run("delete")
    # Nothing of it is left: any call stops again.
    gdb.run("goto END")
    gdb.run("break *fact")
    for n in (1, 2, 3, 4, 5):
        gdb.run("reverse-continue")
        assert gdb.integer("$rdi") == n


def test_row_2_reverse_step_goes_through_the_callee(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-twice")
    depth = gdb.depth()
    gdb.run("reverse-step")
    gdb.expect_at(recorded.at("twice-end"))
    assert (gdb.function(), gdb.depth()) == ("twice", depth + 1)
    gdb.run("reverse-step")
    gdb.run("reverse-step")
    gdb.expect_at(recorded.at("twice-first"))
    gdb.run("reverse-step")
    gdb.expect_at(recorded.at("main-twice"))
    assert (gdb.function(), gdb.depth()) == ("main", depth)
    gdb.run("step")
    gdb.expect_at(recorded.at("twice-first"))


def test_row_3_reverse_next_enters_no_callee(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "after-twice")
    depth = gdb.depth()
    assert gdb.integer("doubled") == 240
    gdb.run("reverse-next")
    gdb.expect_at(recorded.at("main-twice"))
    assert (gdb.function(), gdb.depth()) == ("main", depth)
    assert gdb.integer("doubled") == 0
    gdb.run("next")
    gdb.expect_at(recorded.at("after-twice"))


@pytest.mark.parametrize("symbols", ["libc as it is", "libc without symbols"])
def test_row_4_reverse_finish_out_of_a_callback(gdb: Gdb, recorded: Recorded, symbols: str) -> None:
    if symbols == "libc without symbols":
        gdb.run("set debug-file-directory /nonexistent")
        gdb.run("rdb-open job")
    gdb.run("break compare")
    gdb.run("ignore 1 29")
    gdb.run("continue")
    gdb.run("disable 1")
    depth = gdb.depth()
    caller = gdb.frames()[1]
    assert caller["func"] != "main"
    gdb.run("reverse-finish")
    # One frame fewer, in libc, whether GDB has its source or not: at the call of the comparator.
    assert gdb.depth() == depth - 1
    assert gdb.run("show step-mode").endswith("off.\n")
    here = gdb.frames()[0]
    assert here.get("func") == caller.get("func")
    assert 0 < int(caller["addr"], 16) - int(here["addr"], 16) <= 7
    assert gdb.frames()[-1]["func"] == "main"
    gdb.run("stepi")
    assert gdb.integer("$pc") == gdb.integer("&compare")
    # Forward out of it: the instruction after that call.
    gdb.run("finish")
    assert int(gdb.frames()[0]["addr"], 16) == int(caller["addr"], 16)
    assert gdb.depth() == depth - 1


def test_line_by_line_backwards_as_forwards(gdb: Gdb, recorded: Recorded) -> None:
    """The lines of a stretch, met backwards, are those met forwards."""
    go(gdb, recorded, "stroll")
    first = line_of(recorded, "stroll")
    lines = [first]
    for _ in range(14):
        gdb.run("next")
        lines.append(int(gdb.where().rpartition(":")[2]))
    assert lines == list(range(first, first + 15))
    back = []
    for _ in range(14):
        gdb.run("reverse-next")
        back.append(int(gdb.where().rpartition(":")[2]))
    assert back == lines[-2::-1]
