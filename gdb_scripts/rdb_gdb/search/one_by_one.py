"""Events one after the other, for some seconds: halving passes over what is false for a moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .. import link
from . import searching
from .evaluate import Judge
from .predicate_events import Search

_FOR_NONE_S = 15.0  # where there is no answer yet


def passed_over(
    judge: Judge, refused: link.Refused, verdicts: Mapping[int, str], first: int, last: int
) -> int:
    """An event at which the expression is false, among all and not only those that the search has
    looked at, with VERDICTS.  It looks first where the expression has values.  Raises REFUSED, with
    how many events there were, if there is none.
    """
    patience = searching.Patience(_FOR_NONE_S)
    good = min((at for at, one in verdicts.items() if one == "good"), default=first)
    begin = _after_the_sample_before(good, verdicts)
    spans: list[str] = []
    looked = 0
    for start, end in ((begin, last), (first, begin - 1)):
        if start > end or patience.ended:
            continue
        found, search = _first_at(judge, "bad", start, end, patience)
        if found is not None:
            return found
        looked += search.looked
        stop = end if search.given_up is None else search.given_up - 1
        spans.append(f"from {start} {'on' if stop == last else f'to {stop}'}")
    if looked == last - first + 1:
        spans = [f"from {first} on"]
    raise link.Refused(
        f"{refused}; false at none of the {looked} events {' and '.join(spans[::-1])}"
    )


class Before(NamedTuple):
    """What is known of the events before a change."""

    good: int
    """The first at which the expression was found true."""
    bad: int | None
    """The first after that at which it is false, if there is one before the change."""
    told: str


def before(
    judge: Judge, verdicts: Mapping[int, str], last: int, patience: searching.Patience
) -> Before:
    """Looks at the events up to LAST, the one before the change."""
    good = min(at for at, one in verdicts.items() if one == "good")
    bad, search = _first_at(judge, "bad", good, last, patience)
    begin = _after_the_sample_before(good, verdicts)
    start = None
    if begin < good:
        start, _ = _first_at(judge, "good", begin, good - 1, patience)
    undefined = search.undefined
    if start is not None:
        found, sooner = _first_at(judge, "bad", start, good - 1, patience)
        if found is not None:
            bad, search, undefined = found, sooner, 0
        if sooner.given_up is None:
            good, undefined = start, undefined + sooner.undefined
    stop = search.given_up or (last + 1 if bad is None else bad)
    return Before(good, bad, told(good, stop, search.given_up is None, undefined))


def told(first: int, stop: int, whole: bool = True, undefined: int = 0) -> str:
    count, to = stop - first, "on" if whole else f"to {stop - 1}"
    events = f"{count} event{'' if count == 1 else 's'} from {first} {to}"
    if undefined == count:
        return f"without a value at all {events}"
    return f"false at none of the {events}" + (f", {undefined} without a value" * bool(undefined))


def _after_the_sample_before(event: int, verdicts: Mapping[int, str]) -> int:
    return max((at + 1 for at in verdicts if at < event), default=event)


def _first_at(
    judge: Judge, verdict: str, first: int, last: int, patience: searching.Patience
) -> tuple[int | None, Search]:
    """The first event from FIRST to LAST with this verdict; None: none, or PATIENCE has ended."""
    search = Search("", [judge], "bisect", verdict, patience)
    found = next(search.run(first, last), None)
    if search.interrupted:
        raise KeyboardInterrupt
    return None if found is None else found.event, search
