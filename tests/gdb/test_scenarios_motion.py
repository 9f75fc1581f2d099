"""Rows 5-8 and 11: breakpoints in the past, and the ends of a recording."""

from __future__ import annotations

from gdbdriver import Gdb, Recorded
from scenario import everything, go, moved


def test_row_5_reverse_continue_goes_one_hit_back(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('tick')}")
    gdb.run("ignore 1 699")
    gdb.run("continue")
    assert gdb.integer("i") == 700
    for expected in (699, 698, 697):
        gdb.run("reverse-continue")
        gdb.expect_at(recorded.at("tick"))
        assert (gdb.integer("i"), gdb.integer("hits")) == (expected, expected - 1)
    for expected in (698, 699, 700, 701):
        gdb.run("continue")
        assert (gdb.integer("i"), gdb.integer("hits")) == (expected, expected - 1)
    for expected in (700, 699):
        gdb.run("reverse-continue")
        assert gdb.integer("i") == expected


def test_row_5_to_the_first_hit_and_no_further(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('tick')}")
    gdb.run("ignore 1 2")
    gdb.run("continue")
    assert gdb.integer("i") == 3
    for expected in (2, 1):
        gdb.run("reverse-continue")
        assert gdb.integer("i") == expected
    assert not moved(gdb.run("reverse-continue"))
    assert gdb.state()["at_start"]
    gdb.run("continue")
    assert gdb.integer("i") == 1


def test_row_6_condition_backwards(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"tbreak {recorded.at('tick')} if i == 900")
    gdb.run("continue")
    assert gdb.integer("i") == 900
    gdb.run(f"break {recorded.at('tick')} if i == 500")
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("tick"))
    assert gdb.integer("i") == 500
    assert not moved(gdb.run("reverse-continue"))
    gdb.run("continue")
    assert gdb.integer("i") == 500
    said = gdb.run("continue")
    assert "exits with code 0" in said
    gdb.run("reverse-continue")
    assert gdb.integer("i") == 500


def test_row_7_a_new_breakpoint_stops_in_the_far_past(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("goto END")
    gdb.run(f"break {recorded.at('early')}")
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("early"))
    assert gdb.integer("early") == 0
    event = gdb.state()["event"]
    # More than 300 events lie between that place and the next.
    for command in ("reverse-step", "reverse-next", "reverse-stepi", "reverse-nexti"):
        go_forward_and(gdb, recorded, command)
        gdb.run("reverse-continue")
        gdb.expect_at(recorded.at("early"))
        assert gdb.state()["event"] == event
    gdb.run(f"tbreak {recorded.at('tick')} if i == 20")
    gdb.run("continue")
    gdb.run("reverse-finish")
    gdb.expect_at(recorded.at("main-tick"))
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("early"))


def go_forward_and(gdb: Gdb, recorded: Recorded, command: str) -> None:
    gdb.run(f"tbreak {recorded.at('after-twice')}")
    gdb.run("continue")
    gdb.expect_at(recorded.at("after-twice"))
    assert gdb.state()["event"] >= 300
    gdb.run(command)
    assert gdb.where() != recorded.at("early")


def test_row_7_a_breakpoint_inside_a_call_stepped_over_backwards(
    gdb: Gdb, recorded: Recorded
) -> None:
    go(gdb, recorded, "after-twice")
    gdb.run(f"break {recorded.at('twice-first')}")
    gdb.run("reverse-next")
    gdb.expect_at(recorded.at("twice-first"))
    assert gdb.function() == "twice"


def test_row_7_a_breakpoint_at_address_0_is_no_hit(gdb: Gdb, recorded: Recorded) -> None:
    """GDB sets one to leave a function of which it knows no start."""
    go(gdb, recorded, "after-twice")
    gdb.run("reverse-stepi")
    gdb.run("break *0")
    gdb.run(f"break {recorded.at('main-twice')}")
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("main-twice"))
    assert not moved(gdb.run("reverse-continue"))
    assert gdb.state()["at_start"]


def test_row_7_a_breakpoint_inside_a_line_stops_next(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "main-twice")
    call = int(gdb.run("x/2i $pc").splitlines()[-1].split()[0], 16)
    gdb.run(f"break *{call}")
    for command in ("next", "step", "until"):
        gdb.run(command)
        assert int(gdb.registers()["rip"], 16) == call, command
        gdb.expect_at(recorded.at("main-twice"))
        gdb.run("reverse-stepi")
    gdb.run("delete")
    gdb.run("next")
    gdb.expect_at(recorded.at("after-twice"))


def test_row_8_disabled_and_deleted_breakpoints(gdb: Gdb, recorded: Recorded) -> None:
    places = ("main-fact", "main-twice", "main-qsort")
    for place in places:
        gdb.run(f"break {recorded.at(place)}")
    for place in places:
        gdb.run("continue")
        gdb.expect_at(recorded.at(place))
    gdb.run(f"tbreak {recorded.at('after-ticks')}")
    gdb.run("continue")
    gdb.run("disable 3")
    gdb.run("delete 2")
    gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("main-fact"))
    gdb.run("enable 3")
    gdb.run(f"tbreak {recorded.at('after-ticks')}")
    gdb.run("continue")
    gdb.expect_at(recorded.at("main-qsort"))
    gdb.run("disable")
    assert not moved(gdb.run("reverse-continue"))
    assert gdb.state()["at_start"]


def test_row_11_nothing_before(gdb: Gdb, recorded: Recorded) -> None:
    assert gdb.state()["at_start"]
    start = everything(gdb)
    go(gdb, recorded, "main-twice")
    for command in ("reverse-continue", "reverse-continue", "reverse-stepi", "reverse-step"):
        said = gdb.run(command)
        assert not moved(said)
        assert "start of the recording" in said
        assert gdb.state()["at_start"]
        assert gdb.state()["event"] == 0
        assert everything(gdb) == start
    # The session is usable: forward, backward and undo.
    go(gdb, recorded, "after-twice")
    assert gdb.integer("total") == 120
    gdb.run("reverse-next")
    gdb.expect_at(recorded.at("main-twice"))
    gdb.run("undo")
    gdb.expect_at(recorded.at("after-twice"))


def test_row_11_to_both_ends(gdb: Gdb, recorded: Recorded) -> None:
    said = gdb.run("continue")
    assert "end of the recording" in said and "exits with code 0" in said
    assert gdb.state()["at_end"]
    end = everything(gdb)
    assert (gdb.function() or "").endswith("exit")
    gdb.run("reverse-continue")
    assert gdb.state()["at_start"]
    assert gdb.function() == "_start"
    gdb.run("continue")
    assert everything(gdb) == end
