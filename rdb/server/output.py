"""The program's output up to an event.

The log does not hold output: it is in the program's memory at the time of the write.  So a replica
runs from the start, or from an event, to that event, and its agent keeps the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rdb.timeline.position import Position
from rdb.timeline.travel import Travel

_LEGS = 64


def recorded_output(
    travel: Travel, since: int | None, until: int, look: Callable[[float], None]
) -> Iterator[tuple[int, int, bytes]]:
    """(event, descriptor, bytes) of each write after event `since` up to and including `until`.

    `look` is called with the finished part, 0 to 1; an exception of it ends the run.
    """
    start = max(travel.origin.event, -1 if since is None else since)
    if start >= until:
        return
    walker = travel.to(Position(start))
    try:
        walker.agent.output_on(True)
        leg = max((until - start) // _LEGS, 1)
        while walker.event < until:
            look((walker.event - start) / (until - start))
            walker.to_event(min(walker.event + leg, until))
            for part in walker.agent.output_fetch():
                yield part.event, part.fd, bytes(part.data)
    finally:
        walker.close()
