"""The two instructions between which an expression turned, between two events."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

from rdb.timeline import narrow
from rdb.timeline.alive import Alive
from rdb.timeline.asking import NEIGHBOURS, Asking, Probe, Verdict
from rdb.timeline.position import Hit, Position, Steps
from rdb.timeline.travel import Travel

FEW = 64  # positions that are examined one by one
Pair = Generator[Probe, Verdict, tuple[Position, Position]]


class Inside(Asking):
    def __init__(self, travel: Travel, low: int, alive: Alive | None, last: bool) -> None:
        super().__init__(travel, low, alive)
        self._last = last
        self._adjacent: set[tuple[Position, Position]] = set()

    def _within(self, event: int, high: Position) -> Pair:
        """The change between an event that counts as good and a bad position HIGH, at most one
        event later."""
        good, start = self._places[event][0], Position(event)
        low, high = yield from self._closer(start, high)
        before, after = yield from self._between(low, high, lambda v: v == "bad")
        if self._known[before] != "undefined":
            return before, after
        if self._known[low] == "undefined":  # undefined since it was good last
            return good, after
        before, later = yield from self._between(low, before, lambda v: v != "good")
        return before, later if self._known[later] == "bad" else after

    def _closer(
        self, low: Position, high: Position
    ) -> Generator[Probe, Verdict, tuple[Position, Position]]:
        """A position that is not bad and a bad one, between which the expression has no other exit.

        If there are at most FEW exits these are the first (or last) such positions.
        """
        without: set[int] = set()
        while self._alive is not None and len(without) < NEIGHBOURS:
            places = self._alive.each(low, high, FEW)
            if places is not None:
                one_by_one = self._last_good_place if self._last else self._first_bad
                return (yield from one_by_one(low, [*places, high]))
            place = self._alive.middle(low, high, without)
            if place is None:
                break
            verdict = yield from self._ask(place, "instructions")
            if verdict == "good":
                low, high = place, self._renamed(low, place, high)
            elif verdict == "bad":
                high = place
            else:
                without.add(self._alive.pc_of(place))
        return low, high

    def _first_bad(
        self, start: Position, places: list[Position]
    ) -> Generator[Probe, Verdict, tuple[Position, Position]]:
        """The first bad one of PLACES, and the good one before it; the last place is bad."""
        low = start
        for place in places:
            verdict = yield from self._ask(place, "instructions")
            if verdict == "bad":
                return low, self._renamed(start, low, place)
            low = place if verdict == "good" else low
        raise AssertionError("the last place is bad")

    def _last_good_place(
        self, start: Position, places: list[Position]
    ) -> Generator[Probe, Verdict, tuple[Position, Position]]:
        """The last good one of PLACES, and the bad one after it."""
        high = places[-1]
        for place in reversed(places[:-1]):
            verdict = yield from self._ask(place, "instructions")
            if verdict == "good":
                return place, self._renamed(start, place, high)
            high = place if verdict == "bad" else high
        return start, high

    def _renamed(self, start: Position, low: Position, high: Position) -> Position:
        """HIGH, which is named from START, named from LOW, which is on the way."""
        if not _apart(low, high):
            return high
        pc = narrow.pc_at(self._travel, high)
        left = narrow.passed(self._travel, start, high, pc)
        return self._named_from(low, high, pc, left - narrow.passed(self._travel, start, low, pc))

    def _inside(self, low: int, high: int, like_high: Callable[[Verdict], bool]) -> Pair:
        return (yield from self._between(Position(low), Position(high), like_high))

    def _between(self, low: Position, high: Position, like_high: Callable[[Verdict], bool]) -> Pair:
        """Two positions one instruction apart; LIKE_HIGH is true of the second one's verdict
        only."""
        travel = self._travel
        while True:
            self._done = min(0.98, max(self._done, 0.7) + 0.02)
            high_pc = narrow.pc_at(travel, high)
            window = narrow.window(travel, low, high, high_pc)
            if window.reached:
                pair = yield from self._halve(low, high, window.steps, Steps, like_high)
                self._adjacent.add(pair)
                return pair
            end = low.then(Steps(window.steps))
            verdict = yield from self._ask(end, "instructions")
            if like_high(verdict):
                high = end
                continue
            low = end
            high = self._named_from(low, high, high_pc, window.left)
            counts = narrow.count(travel, low, high, window.candidates)
            pc = max(counts, key=lambda one: counts[one])
            if counts[pc] > 0:
                low, high = yield from self._halve(
                    low, high, counts[pc] + 1, partial(Hit, pc), like_high
                )
                if low != end and _apart(low, high):
                    left = window.left - narrow.passed(travel, end, low, high_pc)
                    high = self._named_from(low, high, high_pc, left)

    def _named_from(self, low: Position, high: Position, pc: int, left: int) -> Position:
        """HIGH named as LEFT arrivals at its pc after LOW, unless its name leads through LOW.

        Two arrivals at one pc may be further apart than a window; arrivals at another pc then
        divide the way.
        """
        if not _apart(low, high):
            return high
        named = low.then(Hit(pc, left))
        self._known[named] = self._known[high]
        return named

    def _halve(
        self,
        low: Position,
        high: Position,
        count: int,
        move: Callable[[int], Steps | Hit],
        like_high: Callable[[Verdict], bool],
    ) -> Pair:
        """Halves the moves 0..count from LOW; move 0 is LOW, move COUNT is HIGH."""
        first, last = 0, count
        ends = {0: low, count: high}
        while last - first > 1:
            middle = (first + last) // 2
            ends[middle] = low.then(move(middle))
            verdict = yield from self._ask(ends[middle], "instructions")
            if like_high(verdict):
                last = middle
            else:
                first = middle
        return ends[first], ends[last]


def _apart(low: Position, high: Position) -> bool:
    """Is LOW in the interval of HIGH, but not on the way that names HIGH?"""
    return high.event == low.event and high.after(low) is None
