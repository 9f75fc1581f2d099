"""What turned false while a local's function did not run.

A pointer that is the same when the function runs again points to the same object in between.  So
the expression is searched once more, with the values that its locals had before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gdb

from .. import link
from ..state import place
from ..values.binding import Binding
from ..values.lookups import Undefined
from .evaluate import Judge

Search = Callable[[Judge, dict[str, Any]], dict[str, Any]]
_AS_BEFORE = ("again", "undefined", "why_undefined", "earlier", "before_it")


def closed(judge: Judge, answer: dict[str, Any], search: Search) -> tuple[Judge, dict[str, Any]]:
    """The change inside the gap of ANSWER, with what judged it; or JUDGE and ANSWER as they are.

    SEARCH carries out a search that begins with these options.
    """
    ends = (answer["before"], answer["after_at"])
    found = [_kept(judge, one) for one in ends]
    kept = found[0]
    if kept is None or found[1] is None or kept.kept_values() != found[1].kept_values():
        return judge, answer
    one = judge.with_binding(kept)
    if [_at(one, end) for end in ends] != ["good", "bad"]:
        return judge, answer
    place.seek(ends[1])
    first, last = answer["event"], link.ask("state")["event"]
    options: dict[str, Any] = {"between": ends}
    if first < last:
        if _at(one, str(last)) != "bad":
            options["between"] = (str(last), ends[1])
        elif _at(one, str(first)) == "good":
            options = {"low": first, "high": last}
        elif _at(one, str(first + 1)) == "bad":
            options["between"] = (ends[0], str(first + 1))
        else:
            options = {"low": first + 1, "high": last}
    try:
        inside = search(one, options)
    except link.Refused:
        return judge, answer
    if "refused" in inside or inside["gap"]:
        return judge, answer
    probes = answer["probes"] + inside["probes"]
    return one, {**inside, **{name: answer.get(name) for name in _AS_BEFORE}, "probes": probes}


def after_the_last(judge: Judge, good: int, search: Search) -> dict[str, Any] | None:
    """The change between GOOD, the last event at which the expression has a value, and the place
    after it from which on it has none; None: it is not there, or not known.

    A member has a value while a member function runs.  Memory at the event after it tells whether
    it changed.
    """
    kept = _kept(judge, str(good))
    if kept is None:
        return None
    one, ends = judge.with_binding(kept), (str(good), str(good + 1))
    if [_at(one, end) for end in ends] != ["good", "bad"]:
        return None
    try:
        inside = search(one, {"between": ends})
    except link.Refused:
        return None
    if "refused" in inside or inside["gap"]:
        return None
    sides = [_at(judge, inside[side]) for side in ("before", "after_at")]
    return inside if sides == ["good", "bad"] else None  # else its memory became something else


def _kept(judge: Judge, position: str) -> Binding | None:
    place.seek(position)
    try:
        return None if judge.binding is None else judge.binding.kept()
    except (Undefined, gdb.error):
        return None


def _at(judge: Judge, position: str) -> str:
    place.seek(position)
    return judge.verdict()[0]
