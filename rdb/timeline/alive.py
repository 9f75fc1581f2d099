"""Positions between events at which an expression may have a value, if it has none at events.

A variable of an optimised program is in a register for some instructions, then elsewhere or
nowhere; a local of a short function exists while the function runs.  The debug information tells
the last instruction of each such range ("exit"): there the variable has its last value for a while.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rdb.timeline import narrow, scan
from rdb.timeline.points import Points
from rdb.timeline.position import Arrive, Hit, Position
from rdb.timeline.travel import Travel


class Alive:
    def __init__(self, travel: Travel, exits: Sequence[int]) -> None:
        """EXITS: addresses of the last instructions at which the expression may have a value."""
        self._travel = travel
        self._exits = exits

    def last(self, here: Position, without: Collection[int]) -> Position | None:
        """The last arrival at an exit before HERE; exits in WITHOUT do not count."""
        points = Points()
        for id_, pc in enumerate(self._left(without), start=1):
            points.set_breakpoint(id_, pc, b"")
        found = scan.last_hit(self._travel, points, here, self._travel.gpr_at(here))
        if found is None:
            return None
        if found.walker is not None:
            found.walker.close()
        return self._travel.name(found.position, found.gpr.pc)

    def each(self, low: Position, high: Position, most: int) -> list[Position] | None:
        """All arrivals at exits between LOW and HIGH, which are in one interval, in order; None:
        there are more than MOST."""
        counts = self._counts(low, high, ())
        if sum(counts.values()) > most:
            return None
        places = [high]
        for _ in range(sum(counts.values())):
            place = self.last(places[-1], ())
            assert place is not None  # it is among the counted ones
            places.append(place)
        return places[:0:-1]

    def middle(self, low: Position, high: Position, without: Collection[int]) -> Position | None:
        """An arrival about in the middle between LOW and HIGH, in one interval; None: there is
        none."""
        counts = self._counts(low, high, without)
        most = max(counts, key=lambda pc: counts[pc], default=0)
        return low.then(Hit(most, (counts[most] + 1) // 2)) if counts.get(most) else None

    def _counts(self, low: Position, high: Position, without: Collection[int]) -> dict[int, int]:
        """Exit -> number of arrivals between LOW and HIGH."""
        exits, high_pc = self._left(without), narrow.pc_at(self._travel, high)
        others = [pc for pc in exits if pc != high_pc]
        counts = narrow.count(self._travel, low, high, others)
        if high_pc in exits:
            counts[high_pc] = narrow.passed(self._travel, low, high, high_pc) - 1
        return counts

    def pc_of(self, place: Position) -> int:
        """The pc of a position that was found."""
        move = place.moves[-1] if place.moves else None
        return move.pc if isinstance(move, Hit | Arrive) else narrow.pc_at(self._travel, place)

    def _left(self, without: Collection[int]) -> list[int]:
        return [pc for pc in self._exits if pc not in without]
