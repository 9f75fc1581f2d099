"""Of several edges between two events the first or the last, and where its statement begins.

Halving meets one edge.  What the expression reads is in memory, so any other edge is at a change of
one of its operands: those between here and the event are looked at one by one.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import link, place, searching
from .evaluate import Judge

_CHANGES_MAX = 500


def refine(judge: Judge, answer: dict[str, Any], last: bool, progress: searching.Progress) -> None:
    """Makes the answer's edge the first or last one between the two events around it."""
    if answer["gap"]:
        return
    moved = True
    while moved:
        moved = False
        place.seek(answer["after_at"])
        for address, length in judge.operands():
            if not _one_value(length):
                continue
            start, end = _span(answer, last)
            rows = searching.ask(
                "changes",
                **{"addr": address, "length": length, "from": start, "to": end},
                **{"limit": _CHANGES_MAX, "frame": None},
            )
            if rows["interrupted"]:
                raise KeyboardInterrupt
            if rows["more"]:
                continue  # too often to look at each: the edge that was found stands
            found = _edge(judge, rows["rows"][:: -1 if last else 1], answer, progress)
            if found is not None:
                answer.update(found)
                moved = True
                break
    place.seek(answer["before"])
    answer["before"] = link.ask("name")["name"]


def _one_value(length: int) -> bool:
    return length <= 64


def _span(answer: dict[str, Any], last: bool) -> tuple[str, str]:
    event = answer["event"]
    if last:
        return answer["after_at"], str(event + 1)
    return str(event), answer["before"]


def _edge(
    judge: Judge, rows: list[dict[str, Any]], answer: dict[str, Any], progress: searching.Progress
) -> dict[str, Any] | None:
    """The first of these changes that is an edge from good to bad, one instruction apart."""
    for number, row in enumerate(rows):
        progress.say(number / len(rows), ", edges nearby")
        if link.pressed():
            raise KeyboardInterrupt
        place.seek(row["position"])
        answer["probes"] += 1
        if judge.verdict()[0] != "bad":
            continue
        stepped = searching.ask("step-back")
        place.forget(stepped)
        answer["probes"] += 1
        if judge.verdict()[0] == "good":
            return {
                "before": stepped["position"],
                "after_at": row["position"],
                "event": stepped["event"],
            }
    return None


def to_statement() -> None:
    """From an instruction to where the statement of the user's program begins, in its frame."""
    frame = gdb.newest_frame()
    while frame is not None and not frame.find_sal().symtab:
        frame = frame.older()
    if frame is None:
        return
    at = frame.pc() if frame.level() == 0 else frame.pc() - 1
    found = re.search(
        r"starts at address (0x[0-9a-f]+)", gdb.execute(f"info line *{at:#x}", to_string=True)
    )
    if found is None or int(found[1], 16) == at:
        return
    sp = int(frame.read_register("rsp"))
    answer = searching.ask("last-at", addr=int(found[1], 16), sp=sp)
    if answer["position"] is not None:
        place.seek(answer["position"])
