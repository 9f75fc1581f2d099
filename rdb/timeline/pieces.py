"""Cuts of a long part of the recording, so that its pieces can be searched in parallel."""

from __future__ import annotations

from rdb.timeline.position import Position
from rdb.timeline.travel import Travel
from rdb.timeline.walker import Walker

_FOR_EACH_JOB = 8  # pieces, about
_LEAST_EVENTS = 64


def cuts_between(jobs: int, first: int, last: int) -> list[int]:
    """Events between pieces.  The first pieces are small, since often only few results are
    needed."""
    span = last - first
    if jobs < 2 or span < 2 * _LEAST_EVENTS:
        return []
    most = max(span // (jobs * _FOR_EACH_JOB), _LEAST_EVENTS)
    cuts, size = [first], _LEAST_EVENTS
    while last - cuts[-1] > size + _LEAST_EVENTS:
        cuts.append(cuts[-1] + size)
        size = min(2 * size, most)
    return cuts[1:]


def ahead(travel: Travel, lead: Walker, cut: int) -> Walker:
    """A walker at the cut: LEAD moved, or a copy of a nearer snapshot; LEAD is then closed."""
    near = travel.nearest(Position(cut))
    if near.event > lead.event:
        lead.close()
        lead = near.fork()
    if lead.event < cut:
        lead.to_event(cut)
    return lead
