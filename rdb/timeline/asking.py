"""Asks for verdicts on positions and events, and keeps them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Literal, NamedTuple

from rdb.timeline.alive import Alive
from rdb.timeline.position import Position
from rdb.timeline.travel import Travel

Verdict = Literal["good", "bad", "undefined"]
NEIGHBOURS = 8
_REASONS = 3


class Probe(NamedTuple):
    """A question: evaluate the expression at this position."""

    position: Position
    stage: Literal["events", "instructions", "verify"]
    done: float  # 0..1, roughly
    soon: tuple[Position, ...] = ()  # what may be asked for next


class Asking:
    def __init__(self, travel: Travel, low: int, alive: Alive | None) -> None:
        """ALIVE: finds positions between events with a value; None: there are none."""
        self._travel = travel
        self._low = low
        self._alive = alive
        self._known: dict[Position, Verdict] = {}
        self._places: dict[
            int, tuple[Position, Verdict]
        ] = {}  # event -> the position judged for it
        self._spans: list[tuple[int, int, Position, Verdict]] = []  # events judged at one position
        self._whys: Counter[str] = Counter()
        self._probes = self._undefined = 0
        self._done = 0.0

    def _ask(
        self,
        position: Position,
        stage: Literal["events", "instructions", "verify"],
        soon: tuple[Position, ...] = (),
    ) -> Generator[Probe, Verdict, Verdict]:
        if position not in self._known:
            unknown = tuple(one for one in soon if one not in self._known)
            self._known[position] = yield Probe(position, stage, self._done, unknown)
        return self._known[position]

    def _ask_event(
        self, event: int, soon: tuple[Position, ...] = ()
    ) -> Generator[Probe, Verdict, Verdict]:
        """The verdict at an event or, if it is undefined there, at the last position with a
        value."""
        place = Position(event)
        verdict = yield from self._ask(place, "events", soon)
        if verdict == "undefined" and self._alive is not None:
            place, verdict = yield from self._ask_before(place)
        self._places[event] = place, verdict
        return verdict

    def _ask_before(self, here: Position) -> Generator[Probe, Verdict, tuple[Position, Verdict]]:
        """The last position before HERE with a value, and its verdict; undefined: there is none."""
        assert self._alive is not None
        event = here.event + bool(here.moves)
        for first, last, place, verdict in self._spans:
            if first <= event <= last:
                return place, verdict
        low, place, verdict = self._low, here, "undefined"
        without: set[int] = set()
        before = here
        while len(without) < NEIGHBOURS:
            found = self._alive.last(before, without)
            if found is None or found.event < self._low:
                break
            judged = yield from self._ask(found, "events")
            if judged != "undefined":
                low, place, verdict = found.event + 1, found, judged
                break
            without.add(self._alive.pc_of(found))
            before = found
        # An event that is known to have a value may be nearer than the arrival that was found.
        known = [one for one, said in self._known.items() if said != "undefined" and not one.moves]
        nearer = max(
            (one for one in known if one.event < event), key=lambda one: one.event, default=None
        )
        if verdict != "undefined" and nearer is not None and nearer.event > place.event:
            low, place, verdict = nearer.event + 1, nearer, self._known[nearer]
        self._spans.append((low, event, place, verdict))
        return place, verdict

    def _why(self) -> str:
        """The most frequent reasons why the expression had no value."""
        return ", ".join(why for why, _ in self._whys.most_common(_REASONS) if why)
