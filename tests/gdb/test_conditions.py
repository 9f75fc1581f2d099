"""Conditions that GDB evaluates itself: that is said, once, and they hold both ways as well."""

from __future__ import annotations

import pytest
from gdbdriver import Gdb, Recorded

from rdb.server.breakpoints import Point, parse_points

SAID = "rdb: GDB itself evaluates the condition of breakpoint"


@pytest.mark.parametrize("condition", ["i * 1.0 == 20", 'i == 20 && $_streq("a", "a")'])
def test_what_cannot_be_compiled_is_said_once(gdb: Gdb, recorded: Recorded, condition: str) -> None:
    said = gdb.run(f"break {recorded.at('tick')} if {condition}")
    assert said.count(SAID) == 1
    text = gdb.run("continue")
    assert gdb.integer("i") == 20
    gdb.run(f"tbreak {recorded.at('tick')} if i == 30")
    text += gdb.run("continue")
    text += gdb.run("reverse-continue")
    assert gdb.integer("i") == 20
    text += gdb.run("disable 1") + gdb.run("enable 1") + gdb.run("undo")
    assert SAID not in text


def test_what_can_be_compiled_needs_no_word(gdb: Gdb, recorded: Recorded) -> None:
    said = gdb.run(f"break {recorded.at('tick')} if i == 500")
    said += gdb.run("continue")
    assert gdb.integer("i") == 500
    assert "rdb:" not in said
    assert "target evals" in gdb.run("info breakpoints")


def test_a_condition_set_later(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run(f"break {recorded.at('tick')}")
    assert "rdb:" not in gdb.run("condition 1 i == 7")
    assert SAID in gdb.run("condition 1 (float) i == 7")
    gdb.run("continue")
    assert gdb.integer("i") == 7


def test_conditions_of_watchpoints(gdb: Gdb, recorded: Recorded) -> None:
    said = gdb.run("watch hits if hits == 12")
    assert "the condition of watchpoint 1" in said
    gdb.run("continue")
    assert gdb.integer("hits") == 12


def test_one_too_long_for_the_server_is_left_to_gdb() -> None:
    code = b"\x22\x01" * 600 + b"\x27"
    packet = b"0,1000,1;X%x,%s" % (len(code), code.hex().encode())
    assert parse_points(packet) == [Point(0, 0x1000, 1)]
