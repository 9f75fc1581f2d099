"""What the program had written by an event.

The log does not hold it (it is in the program's memory when it is written), so a replica of its own
runs from the start to that event and keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator

from rdb.replay.replica import Replica, Source


def recorded_output(recording: Source, until_event: int) -> Iterator[tuple[int, int, bytes]]:
    """(event, descriptor, bytes) of each write up to and including `until_event`."""
    replica = Replica.start(recording)
    try:
        agent = replica.agent
        agent.output_on(True)
        if until_event > agent.hello().event:
            agent.run(until_event=until_event)
        for part in agent.output_fetch():
            yield part.event, part.fd, bytes(part.data)
    finally:
        replica.close()
