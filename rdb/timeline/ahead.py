"""Replicas that run in the background to positions that may be asked for next.

A bisection asks for the value at one event after another.  Whatever the answer is, only two events
can come next, so other processors run there meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

from rdb.errors import RdbError
from rdb.timeline.position import Position
from rdb.timeline.stopped import Interrupted
from rdb.timeline.walker import Walker

if TYPE_CHECKING:
    from rdb.timeline.travel import Travel


LEG_EVENTS = 32  # a shorter way is one leg


def legs_to(event: int, target: int) -> Iterator[int]:
    """Events at which a long way is interrupted; each leg is half of the rest, so that snapshots
    get denser towards the end."""
    while target - event > 1:
        distance = target - event
        event += distance // 2 if distance > LEG_EVENTS else distance
        yield event


@dataclass
class _Way:
    walker: Walker
    thread: Thread | None = None
    left: list[Walker] = field(default_factory=list)  # snapshots that were made on the way
    failed: bool = False


class Ahead:
    """The background runs.  The timeline's thread starts them; each thread runs its own walker."""

    def __init__(self, travel: Travel) -> None:
        self._travel = travel
        self._ways: dict[Position, _Way] = {}

    def prepare(self, positions: Sequence[Position]) -> None:
        """Starts runs to POSITIONS (only answers of events); runs to other positions are
        dropped."""
        for position in [one for one in self._ways if one not in positions]:
            self._drop(position)
        for position in positions[: self._travel.jobs]:
            if position in self._ways or position.moves or self._travel.jobs < 2:
                continue
            if not 0 <= position.event <= self._travel.last_event:
                continue
            way = _Way(self._travel.nearest(position).fork())
            way.thread = Thread(target=self._go, args=(way, position.event), daemon=True)
            self._ways[position] = way
            way.thread.start()

    def leave(self, walker: Walker) -> None:
        """Takes over a walker at a position that will be asked for next."""
        self.close()
        self._ways[walker.position] = _Way(walker)

    def take(self, position: Position) -> Walker | None:
        """Waits for the run to POSITION; its walker, which the caller owns, or None."""
        way = self._ways.pop(position, None)
        if way is None:
            return None
        if way.thread is not None:
            way.thread.join()
        self._travel.found_ahead(way.left)
        if way.failed:
            way.walker.close()
            return None
        return way.walker

    def close(self) -> None:
        for position in list(self._ways):
            self._drop(position)

    def _drop(self, position: Position) -> None:
        way = self._ways.pop(position)
        if way.thread is not None:
            if way.thread.is_alive():
                way.walker.control.drop(way.walker.agent)
            way.thread.join()
        self._travel.found_ahead(way.left)
        way.walker.close()

    def _go(self, way: _Way, event: int) -> None:
        walker = way.walker
        try:
            for leg in legs_to(walker.event, event):
                walker.to_event(leg)
                if self._travel.worth(walker):
                    walker.fresh_s = 0.0
                    way.left.append(walker.fork())
            if event > walker.event:
                walker.to_event(event)
        except (Interrupted, RdbError, OSError):
            way.failed = True  # the caller goes there itself, and gets the error
