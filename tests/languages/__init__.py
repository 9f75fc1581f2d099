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

from .stepped import first_edges

PACKAGES = (
    *("gcc", "g++", "gfortran", "gdc", "gccgo", "gnat", "clang", "lld", "rustc"),
    *("flang-19", "openmpi-bin", "libopenmpi-dev", "libc6-dbg", "binutils"),
    *("libomp-dev", "libc++-dev", "libc++abi-dev", "default-jdk-headless"),
)
_MARK = re.compile(r"(?://|!|--|#)([=0])(\d+) (.+?)(?: \*/)?$")
# What an answer says that claims nothing about a place.
_HONEST = re.compile(
    r"undefined at |optimized out|No symbol |true as long as it had a value|no value|not available"
    # Stores whose values nobody reads are left out, too.
    r"|false where it first has a value"
)


@dataclass(frozen=True)
class Mark:
    line: int
    turn: int
    may_be_left_out: bool
    in_gdbs: str


def marked(source: Path, optimised: bool) -> dict[str, Mark]:
    """Expression -> where it becomes false."""
    found: dict[str, Mark] = {}
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        one = _MARK.search(line)
        if one and "EXPRESSION" not in line:
            text, _, in_gdbs = one[3].partition(" @ ")
            left_out = optimised and one[1] == "0"
            found[text] = Mark(number, int(one[2]), left_out, in_gdbs or text)
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
    """`exact`, `moved` (the instruction that did it has another line), `later` (the compiler has
    left out the statement's store), `undefined`, or what is wrong."""
    if "error" in found:
        honest = mark.may_be_left_out and _HONEST.search(found["error"])
        return "undefined" if honest else str(found["error"])
    if not (found["before_true"] and found["after_false"]):
        return "not verified"
    if found["gap"] and mark.may_be_left_out:
        return "undefined"
    if mark.may_be_left_out and found["event"] >= events[mark.turn - 1]:
        return "later"
    if not events[mark.turn - 2] <= found["event"] < events[mark.turn - 1]:
        return f"another turn: event {found['event']}, {found['written_by']}"
    if found["lines"][:1] == [mark.line]:
        return "exact"
    return "moved" if optimised else f"another line: {found['written_by']}"


def check_marked(
    recorded: Recorded, source: Path, optimised: bool = False, incomplete: bool = False
) -> dict[str, str]:
    """The verdict on each expression; none is wrong, and where the line is not the mark's, who goes
    on from its turn by single instructions comes to the same one.  INCOMPLETE: any variable may be
    missing in the debug information."""
    assert recorded.done.returncode == 0, recorded.done.stderr
    said: dict[str, str] = {}
    wrong: dict[str, Any] = {}
    answers: dict[str, dict[str, Any]] = {}
    spans: list[tuple[int, int, str]] = []
    with recorded.gdb() as gdb:
        gdb.run("goto end")
        events = turns(gdb)
        assert len(events) >= 60, events
        for expression, mark in marked(source, optimised).items():
            found = answered(gdb, source, expression)
            mark = replace(mark, may_be_left_out=mark.may_be_left_out or incomplete)
            said[expression] = verdict(found, mark, events, optimised)
            if said[expression] not in ("exact", "moved", "later", "undefined"):
                wrong[expression] = (said[expression], found)
            if "error" not in found and said[expression] != "exact":
                answers[expression] = found
                first = min(events[mark.turn - 2], found["event"])
                spans.append((first, found["after_event"], mark.in_gdbs))
            gdb.run("goto end")
    edges = first_edges(recorded, spans) if spans else []
    for (expression, found), edge in zip(answers.items(), edges, strict=True):
        if (found["position"], found["gap"]) != (edge.before, edge.between > 0):
            wrong.setdefault(expression, (f"stepping finds {edge}", found))
    assert not wrong, json.dumps(wrong, indent=1)
    return said


def answered(gdb: Gdb, source: Path, expression: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(gdb.run(f"bisect {expression} --json"))
    except GdbError as error:
        return {"error": str(error)}
    if "refused" in found:
        return {"error": found["refused"]}
    stack = "\n".join(found["stack"])
    place = rf"[ /]{re.escape(source.name)}:(\d+)$"
    found["lines"] = [int(one) for one in re.findall(place, stack, re.M)]
    return found
