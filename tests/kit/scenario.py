"""What the tests of scenarios share: going to a marked place, everything one can see there."""

from __future__ import annotations

from gdbdriver import Gdb, Recorded


def go(gdb: Gdb, recorded: Recorded, place: str, condition: str = "") -> None:
    """From the start to the first arrival at a place where the condition holds."""
    gdb.run("goto START")
    there = recorded.at(place)
    gdb.run(f"tbreak {there}{' if ' + condition if condition else ''}")
    gdb.run("continue")
    gdb.expect_at(there)


def line_of(recorded: Recorded, place: str) -> int:
    return int(recorded.at(place).rpartition(":")[2])


def everything(gdb: Gdb) -> tuple[str, str, str]:
    """Position, all registers, bytes of the stack: equal only if nothing moved."""
    position = str(gdb.state()["position"])
    return position, gdb.run("info all-registers"), gdb.run("x/64xg $rsp")


def moved(text: str) -> bool:
    """Did GDB not say that there was no way on?"""
    ends = ("No more reverse-execution history", "Reached end of recorded history")  # GDB 16
    return not any(end in text for end in ends)
