"""Where a long part of the recording is cut, so that its pieces can be searched side by side."""

from __future__ import annotations

from rdb.timeline.position import Position
from rdb.timeline.travel import Travel
from rdb.timeline.walker import Walker

_FOR_EACH_JOB = 8  # about
_LEAST_EVENTS = 64


def cuts_between(jobs: int, first: int, last: int) -> list[int]:
    """Events between the pieces.  Small ones come first: often no more is asked for."""
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
    """At the cut: the same walker, or a copy of a snapshot that is nearer."""
    near = travel.nearest(Position(cut))
    if near.event > lead.event:
        lead.close()
        lead = near.fork()
    if lead.event < cut:
        lead.to_event(cut)
    return lead
