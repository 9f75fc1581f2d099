"""The first or last of several edges (changes from good to bad) between two events.

Halving finds one edge.  The expression reads memory, so any other edge is at a change of one of its
operands.  The changes between the edge and the event are examined one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gdb

from .. import link
from ..state import place
from . import last_calls, one_by_one, searching
from .evaluate import Judge

_CHANGES_MAX = 500  # changes at which GDB evaluates the expression
_VALUES_MAX = 20_000  # changes of the only variable, whose values tell what the expression is
_PATIENCE_S = 15.0  # for the changes between two events
_LENGTH_MAX = 4096  # bytes of an operand whose changes are examined


def refine(judge: Judge, answer: dict[str, Any], last: bool, progress: searching.Progress) -> None:
    """Replaces the answer's edge by the first or last one between the two events around it."""
    if answer["gap"]:
        return
    patience = searching.Patience(_PATIENCE_S)
    moved = True
    while moved:
        moved = False
        place.seek(answer["after_at"])
        for address, length in judge.operands():
            if not _one_value(length):
                continue
            rows = _changes(address, length, *_span(answer, last), last, _CHANGES_MAX, patience)
            found = _edge(judge, rows or [], answer, progress, patience)
            if found is not None:
                answer.update(found)
                moved = True
                break
    place.seek(answer["before"])
    answer["before"] = link.ask("name")["name"]


def between_events(
    judge: Judge, bad: dict[str, Any], last: bool, events_only: bool, progress: searching.Progress
) -> dict[str, Any]:
    """The edge between the first value, which is bad, and the first event at which it is good.

    Raises link.Refused if there is none.
    """
    if not events_only:
        place.seek(bad["bad_at"])
        span, patience = (bad["first"], bad["until"]), searching.Patience(_PATIENCE_S)
        found, _, _ = _at_changes(judge, span, last, bad, progress, patience)
        if found is not None:
            return found
    said = bad["refused"]
    if bad["before"] is not None:
        statement = _statement(bad["before"], bad["first"])
        said = f"false from its first value on, at {statement}: {said}"
    raise link.Refused(said)


def at_a_moment(
    judge: Judge, good: int, span: tuple[int, int], last: bool, progress: searching.Progress
) -> dict[str, Any] | str:
    """An edge at no event: at a change of what the expression reads at event GOOD, between two
    events.  Or a text: at how many changes there is none, and which were not looked at."""
    answer: dict[str, Any] = {"probes": 0, "again": None, "undefined": 0, "why_undefined": ""}
    place.seek(str(good))
    first, end = map(str, span)
    patience = searching.Patience(_PATIENCE_S)
    found, looked, why = _at_changes(judge, (first, end), last, answer, progress, patience)
    if found is not None:
        return found
    return _told(looked, why)


def _told(looked: int, why: str) -> str:
    said = f", at none of {looked} changes between them" if looked else ""
    return f"{said}; what is between them was not looked at: {why}" if why else said


def sooner(
    judge: Judge, answer: dict[str, Any], patience: searching.Patience, progress: searching.Progress
) -> None:
    """Replaces the answer's edge by one at no event before it, and adds what was looked at."""
    if answer.get("since") is None or answer["gap"]:
        return
    place.seek(answer["before"])
    span = (str(answer["since"]), answer["before"])
    found, looked, why = _at_changes(judge, span, False, answer, progress, patience)
    if found is None:
        answer["before_it"] += _told(looked, why)
        return
    place.seek(found["before"])
    found["before"] = link.ask("name")["name"]
    told = one_by_one.told(answer["since"], found["event"] + 1)
    answer.update(found, before_it=f"{told}, at no change between them")


def _at_changes(
    judge: Judge,
    span: tuple[str, str],
    last: bool,
    answer: dict[str, Any],
    progress: searching.Progress,
    patience: searching.Patience,
) -> tuple[dict[str, Any] | None, int, str]:
    """ANSWER with an edge in SPAN, at a change of what the expression reads here; None: there is
    none.  And at how many changes there is none, and why others were not looked at."""
    looked, why = 0, ""
    has_value = judge.verdict()[0] != "undefined"
    operands = judge.operands()
    truth = judge.of_bytes()
    for address, length in operands:
        if length > _LENGTH_MAX:
            why = f"it reads {length:,} bytes"
            continue
        most = _CHANGES_MAX if truth is None else _VALUES_MAX
        rows = _changes(address, length, *span, last, most, patience)
        if patience.ended:
            why = "it takes too long"
            break
        if rows is None:
            why = f"what it reads changes more than {most:,} times"
            continue
        bad = [row for row in rows if truth is None or _is_bad(truth, row["now"])]
        found = _edge(judge, bad, answer, progress, patience)
        if found is not None:
            return {**answer, **found, "gap": False}, looked, ""
        if patience.ended:
            why = "it takes too long"
            break
        looked += len(rows)
    if not operands:
        why = "what it reads is not in memory" if has_value else "it has no value at the events"
    return None, looked, why


def _is_bad(truth: Callable[[str], bool], data: str) -> bool:
    try:
        return not truth(data)
    except gdb.error:
        return False  # undefined


def _statement(before: str, first: str) -> str:
    """The statement that gives it its first value; a local has one where its function begins."""
    place.seek(before)
    giving, function = last_calls.place_of_own(), _own_function()
    place.seek(first)
    return giving if _own_function() == function else last_calls.place_of_own()


def _own_function() -> str | None:
    """The innermost function of the program's own code, outside of inline functions of headers."""
    found = last_calls.innermost()
    return None if found is None else found["function"]


def _changes(
    address: int,
    length: int,
    start: str,
    end: str,
    last: bool,
    most: int,
    patience: searching.Patience,
) -> list[dict[str, Any]] | None:
    """Changes in the order in which to examine them; None: there are more than MOST."""
    of: dict[str, Any] = {"addr": address, "length": length, "frame": None}
    span: dict[str, Any] = {"from": start, "to": end, "limit": most}
    found = searching.patiently(patience, "changes", {**of, **span})
    if found["interrupted"] and not patience.ended:
        raise KeyboardInterrupt
    rows: list[dict[str, Any]] = found["rows"]
    return None if found["more"] else rows[:: -1 if last else 1]


def _one_value(length: int) -> bool:
    return length <= 64


def _span(answer: dict[str, Any], last: bool) -> tuple[str, str]:
    event = answer["event"]
    if last:
        return answer["after_at"], str(event + 1)
    return str(event), answer["before"]


def _edge(
    judge: Judge,
    rows: list[dict[str, Any]],
    answer: dict[str, Any],
    progress: searching.Progress,
    patience: searching.Patience,
) -> dict[str, Any] | None:
    """The first of these changes that is an edge, one instruction apart; None: none is."""
    for number, row in enumerate(rows):
        progress.say(number / len(rows), ", edges nearby")
        if link.pressed():
            raise KeyboardInterrupt
        if patience.ended:
            break
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
    """Goes from an instruction to the beginning of the user's statement, in the same frame."""
    frame = gdb.newest_frame()
    while frame is not None and not frame.find_sal().symtab:
        frame = frame.older()
    if frame is None:
        return
    at = frame.pc() if frame.level() == 0 else frame.pc() - 1
    start = gdb.find_pc_line(at).pc
    if start == at:
        return
    sp = int(frame.read_register("rsp"))
    answer = searching.ask("last-at", addr=start, sp=sp)
    if answer["position"] is not None:
        place.seek(answer["position"])
