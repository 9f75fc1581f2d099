"""Programs in several languages whose sources say which statement makes which expression false.

A mark is `=N EXPRESSION` behind a comment's sign: the statement makes it false first, between the
events N-1 and N of the calls of getppid.  `0N` marks a variable that optimisation may leave out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gdbdriver import Gdb, GdbError, Recorded

PACKAGES = (
    *("gcc", "g++", "gfortran", "gdc", "gccgo", "gnat", "clang", "lld", "rustc"),
    *("flang-19", "openmpi-bin", "libopenmpi-dev", "libc6-dbg", "binutils"),
)
_MARK = re.compile(r"(?://|!|--|#)([=0])(\d+) (.+?)(?: \*/)?$")
# What an answer says that claims nothing about a place.
_HONEST = re.compile(
    r"undefined at |optimized out|No symbol |good as long as it had a value|no value|not available"
    # Stores whose values nobody reads are left out, too.
    r"|bad where it first has a value"
)


@dataclass(frozen=True)
class Mark:
    line: int
    turn: int
    may_be_left_out: bool


def marked(source: Path, optimised: bool) -> dict[str, Mark]:
    """Expression -> where it becomes false."""
    found: dict[str, Mark] = {}
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        one = _MARK.search(line)
        if one and "EXPRESSION" not in line:
            found[one[3]] = Mark(number, int(one[2]), optimised and one[1] == "0")
    return found


def turns(gdb: Gdb) -> list[int]:
    """The events of getppid."""
    events: list[int] = []
    for row in gdb.run("find-event getppid --all --limit 200").splitlines():
        found = re.match(r"(\d+) .*getppid\(\).*?(?:\[(\d+) times\])?$", row)
        if found:
            events += range(int(found[1]), int(found[1]) + int(found[2] or 1))
    return events


def verdict(found: dict[str, Any], mark: Mark, events: list[int], optimised: bool) -> str:
    """`exact`, `near` (the right turn, another line), `undefined`, or what is wrong."""
    if "error" in found:
        honest = mark.may_be_left_out and _HONEST.search(found["error"])
        return "undefined" if honest else found["error"]
    if not (found["before_true"] and found["after_false"]):
        return "not verified"
    if found["gap"] and mark.may_be_left_out:
        return "undefined"
    if not events[mark.turn - 2] <= found["event"] < events[mark.turn - 1]:
        return f"another turn: event {found['event']}, {found['written_by']}"
    if found["lines"] and found["lines"][0] == mark.line:
        return "exact"
    return "near" if optimised else f"another line: {found['written_by']}"


def check_marked(
    recorded: Recorded, source: Path, optimised: bool = False, incomplete: bool = False
) -> dict[str, str]:
    """The verdict on each expression; none is wrong.  INCOMPLETE: any variable may be missing in
    the debug information."""
    assert recorded.done.returncode == 0, recorded.done.stderr
    said: dict[str, str] = {}
    wrong: dict[str, Any] = {}
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        events = turns(gdb)
        assert len(events) >= 60, events
        for expression, mark in marked(source, optimised).items():
            found = answered(gdb, expression)
            mark = replace(mark, may_be_left_out=mark.may_be_left_out or incomplete)
            said[expression] = verdict(found, mark, events, optimised)
            if said[expression] not in ("exact", "near", "undefined"):
                wrong[expression] = (said[expression], found)
            gdb.run("goto end")
    assert not wrong, json.dumps(wrong, indent=1)
    return said


def answered(gdb: Gdb, expression: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(gdb.run(f"bisect {expression} --json"))
    except GdbError as error:
        return {"error": str(error)}
    found["lines"] = [int(one) for one in re.findall(r":(\d+)$", "\n".join(found["stack"]), re.M)]
    return found
