"""Bisect: where an expression first (or last) turned from good to bad.

Another process (GDB) evaluates the expression, so the search returns questions:

    search = Bisect(timeline)                  # or Bisect(timeline, last=True)
    ask = search.start()
    while isinstance(ask, Probe):
        timeline.seek(ask.position)            # then evaluate there:
        ask = search.answer("good")            # or "bad", or "undefined" (out of scope, unreadable)
    ask.before, ask.after                      # a Result: one instruction apart

`start` and `answer` raise Refused when there is nothing to find (good at the end, bad at the
start, undefined everywhere), and Unstable when the verdicts contradict each other.  Only the caller
moves the timeline.

First events are sampled evenly and halved, then the instructions in the last interval.  For an
undefined verdict its neighbours are tried or, if `alive` tells where the expression has a value
between events, the last position before the event with a value.  `Result.gap`: the expression is
undefined between good and bad.  The result is verified: good at `before`, bad at `after`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.timeline.alive import Alive
from rdb.timeline.asking import NEIGHBOURS, Probe, Verdict
from rdb.timeline.inside import FEW, Inside, Pair
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

_SAMPLES = 33
_SAMPLES_MAX = 513
Edge = tuple[int, "int | None"]  # two events, good and bad; None: the end of the recording


class Refused(RdbError):
    """There is no change from good to bad."""

    exit_code = 1


class BadAtFirst(Refused):
    """The expression is bad where it first has a value."""

    first: Position | None = None  # the first instruction with a value, if it was searched
    before: Position | None = None  # the instruction before that

    edge: Edge | None = None  # a later change from good to bad
    good: int | None = None  # without a later change: the first event at which it is good
    again: int | None = None  # a later event at which it is good

    def __init__(self, reason: str, place: Position, until: Position) -> None:
        super().__init__(reason)
        self.place = place  # the first examined position at which it is bad
        self.until = until  # it may have turned between `place` and `until`, at no event


class Unstable(RdbError):
    """A position got two different verdicts: the expression depends on more than the state."""

    exit_code = 1


class Looked(NamedTuple):
    """How many questions a search has asked."""

    probes: int
    undefined: int  # probes where the expression had no value
    why_undefined: str


class Result(NamedTuple):
    """Good at `before`; bad at `after`, which is one instruction later unless there is a gap."""

    before: Position
    after: Position
    event: int  # the last event answered before it
    gap: bool  # between the two it is undefined
    again: int | None  # a later event at which it is good
    looked: Looked


Search = Generator[Probe, Verdict, Result]


class Bisect(Inside):
    def __init__(
        self,
        timeline: Timeline,
        last: bool = False,
        low: int | None = None,
        high: int | None = None,
        events_only: bool = False,
        alive: Sequence[int] = (),
        between: Sequence[Position] = (),
        defined: int | None = None,
    ) -> None:
        """LOW, HIGH: events between which to search (None: the whole recording).  ALIVE: exits for
        Alive.

        BETWEEN: two positions, good and bad, with no event between them.  Undefined then counts as
        bad if LAST, else as good.  DEFINED: an event at which the expression is known to have a
        value, for one that has it rarely.  Raises Refused if LOW is after HIGH.
        """
        travel = timeline.travel
        low = travel.origin.event if low is None else low
        super().__init__(travel, low, Alive(travel, alive) if alive else None, last)
        self._high = travel.last_event if high is None else high
        self._to_end = high is None  # the search includes what follows the last event
        self._events_only = events_only
        self._ends = between
        self._defined = {one for one in (defined,) if one is not None and low <= one <= self._high}
        self._end = Position(self._high)
        if self._low > self._high:
            raise Refused(f"no event lies between {self._low} and {self._high}")
        self.so_far = ""
        """A text with what is known before the search ends."""
        self._search = self._run()

    def start(self) -> Probe | Result:
        return self._next(lambda: next(self._search))

    def answer(self, verdict: Verdict, why: str = "") -> Probe | Result:
        """The next question or the result.  WHY: why the expression is undefined."""
        self._probes += 1
        if verdict == "undefined":
            self._undefined += 1
            self._whys[why] += 1
        return self._next(lambda: self._search.send(verdict))

    @staticmethod
    def _next(advance: Callable[[], Probe]) -> Probe | Result:
        try:
            return advance()
        except StopIteration as finished:
            result = finished.value
            assert isinstance(result, Result)
            return result

    # ---- the search ----

    def _run(self) -> Search:
        if self._ends:
            first, second = self._ends
            for one in self._ends:
                yield from self._ask(one, "instructions")
            pair = yield from self._between(
                first, second, lambda v: v != "good" if self._last else v == "bad"
            )
            return self._result(*pair)
        try:
            low, high = yield from self._sample()
        except BadAtFirst as bad:
            before, after = yield from self._in_its_first_interval(bad)
        else:
            if high is None:
                before, after = yield from self._within(low, self._end)
            else:
                before, after = yield from self._edge(low, high)
        for position, expected in ((before, "good"), (after, "bad")):
            verdict = yield Probe(position, "verify", 0.99)
            if verdict != expected:
                raise Unstable(f"two looks at {position} differ: first {expected}, then {verdict}")
        return self._result(before, after)

    def _result(self, before: Position, after: Position) -> Result:
        gap = self._known_gap(before, after)
        again = self._again(after.event)
        return Result(before, after, before.event, gap, again, self.looked)

    def _again(self, bad: int) -> int | None:
        good = (place.event for place, verdict in self._places.values() if verdict == "good")
        return min((event for event in good if event > bad), default=None)

    @property
    def looked(self) -> Looked:
        return Looked(self._probes, self._undefined, self._why())

    @property
    def known(self) -> str:
        """A text with what is known so far, for a search that is ended early."""
        events = sorted(
            (place.event, verdict) for place, verdict in self._known.items() if not place.moves
        )
        bad = [event for event, verdict in events if verdict == "bad"]
        good = [event for event, verdict in events if verdict == "good"]
        if self._last and good:
            later = [event for event in bad if event > good[-1]]
            return f"last seen true at event {good[-1]}" + (
                f", false again at event {later[0]}" if later else ""
            )
        if not bad:
            return f"true at {len(good)} events, false at none" if good else "nothing is known yet"
        before = [event for event in good if event < bad[0]]
        earlier = f", true before at event {before[-1]}" if before else ""
        return f"false at event {bad[0]}{earlier}"

    def _known_gap(self, before: Position, after: Position) -> bool:
        return (before, after) not in self._adjacent

    def _sample(self) -> Generator[Probe, Verdict, Edge]:
        """Two events, good and bad, next to the change that is asked for, from evenly spaced
        samples."""
        span = self._high - self._low
        wanted = _SAMPLES
        while True:
            count = min(wanted, span + 1)
            even = {self._low + span * i // max(count - 1, 1) for i in range(count)}
            events = sorted(even | self._defined)
            count = len(events)
            judged: list[tuple[int, Verdict]] = []
            done = self._done
            for index, event in enumerate(events):
                self._done = done + (0.4 - done) / 2 * index / count
                soon = tuple(Position(later) for later in events[index + 1 : index + 2])
                yield from self._ask(Position(event), "events", soon)
            # The last event first: the last position with a value is often the same for several.
            for event in reversed(events):
                verdict = yield from self._ask_event(event)
                if verdict != "undefined":
                    judged.insert(0, (event, verdict))
            usual = any(event in even for event, _ in judged)
            if usual or wanted >= min(_SAMPLES_MAX, span + 1):
                break
            self.so_far = f"no value at {count - len(judged)} events so far: {self._why()}"
            wanted = 2 * wanted - 1  # the same events, and one between any two
        if not judged:
            raise Refused(f"undefined at all {count} events that were looked at: {self._why()}")
        judged = [*(yield from self._defined_before(events, judged)), *judged]
        edges: list[Edge] = [
            (low, high)
            for (low, first), (high, second) in pairwise(judged)
            if first == "good" and second == "bad"
        ]
        event, verdict = judged[-1]
        none = ""
        if verdict == "good" and (self._last or not edges):
            found = yield from self._edge_at_the_end(event, events)
            if isinstance(found, str):
                none = found
            else:
                edges.append(found)
        if judged[0][1] == "bad" and not (self._last and edges):
            raise self._bad_at_first(judged, edges)
        if not edges:
            raise Refused(none + self._looked())
        return edges[-1 if self._last else 0]

    def _bad_at_first(self, judged: list[tuple[int, Verdict]], edges: list[Edge]) -> BadAtFirst:
        place = self._places[judged[0][0]][0]
        good = next((event for event, verdict in judged if verdict == "good"), None)
        said = f"false at the start already (event {place.event})"
        until = self._end if good is None else Position(good)
        if place.event > self._low:
            said = f"false where it first has a value (event {place.event}), undefined before: "
            said += self._why()
            until = place
        if good is not None and not edges:
            said += f"; true at event {good}"
        bad = BadAtFirst(said, place, until)
        bad.good = None if edges else good
        if edges:
            bad.edge = edges[0]
            bad.again = self._again(self._high if edges[0][1] is None else edges[0][1])
        return bad

    def _edge_at_the_end(
        self, event: int, events: list[int]
    ) -> Generator[Probe, Verdict, Edge | str]:
        """The change after EVENT, the last sample with a value, which is good; or why there is
        none."""
        if event < events[-1]:
            later = events[events.index(event) + 1]
            event, other = yield from self._halve_events(event, later, lambda one: one != "good")
            if self._places[other][1] == "bad":
                return event, other
            known = ((at, said) for at, (_, said) in self._places.items() if at > event)
            bad = min((at for at, said in known if said == "bad"), default=None)
            return "true as long as it had a value" if bad is None else (event, bad)
        if (yield from self._turns_after(event)):
            return event, None
        if self._places[event][0].event < event:
            return "true as long as it had a value"
        if self._to_end and event == self._high and not self._travel.end.exact:
            return f"still true right after event {event}, the last; what followed is not known"
        return f"still true at the end (event {event})"

    def _in_its_first_interval(self, bad: BadAtFirst) -> Pair:
        """Searches between the event without a value and the position at which it is bad."""
        place = bad.place
        start = Position(place.event if place.moves else place.event - 1)
        if self._events_only or start.event < self._low:
            raise bad
        if (yield from self._ask(start, "events")) != "undefined":
            raise bad
        good: Position | None = None
        places = None if self._alive is None else self._alive.each(start, place, FEW)
        for one in [*(places or ()), place]:
            verdict = yield from self._ask(one, "instructions")
            if verdict == "good":
                good = one
            elif verdict == "bad" and good is not None:
                return (yield from self._turn(good, self._renamed(start, good, one)))
        before, first = yield from self._between(start, place, lambda v: v != "undefined")
        if self._known[first] == "good":
            return (yield from self._turn(first, self._renamed(start, first, place)))
        bad.before, bad.first = before, first
        raise bad

    def _turn(self, good: Position, high: Position) -> Pair:
        """Searches between two positions in one interval, good and bad."""
        before, after = yield from self._between(good, high, lambda v: v == "bad")
        if self._known[before] != "undefined":
            return before, after
        before, later = yield from self._between(good, before, lambda v: v != "good")
        return before, later if self._known[later] == "bad" else after

    def _looked(self) -> str:
        """A text: at how many events it was good, bad or undefined."""
        at: dict[str, list[int]] = {"good": [], "bad": [], "undefined": []}
        for event, (place, verdict) in self._places.items():
            # A verdict of an earlier position: at the event itself it is undefined.
            at[verdict if place.event >= event - 1 else "undefined"].append(event)
        good, bad, undefined = (at[one] for one in ("good", "bad", "undefined"))
        said = ""
        if good and (bad or undefined):
            said += f"; true at {_events(good)} up to {max(good)}"
        if bad:
            said += f", false at {_events(bad)} up to {max(bad)}"
        if undefined:
            said += f", undefined at the other {len(undefined)} that were looked at: {self._why()}"
        return said

    def _defined_before(
        self, events: list[int], judged: list[tuple[int, Verdict]]
    ) -> Generator[Probe, Verdict, list[tuple[int, Verdict]]]:
        """The first event with a value, if the first sample with one is bad and not the first."""
        event, verdict = judged[0]
        index = events.index(event)
        if verdict != "bad" or index == 0:
            return []
        _, first = yield from self._halve_events(
            events[index - 1], event, lambda one: one != "undefined"
        )
        return [(first, self._places[first][1])] if first < event else []

    def _turns_after(self, event: int) -> Generator[Probe, Verdict, bool]:
        """Is it bad at the end of the recording, after the last event, at which it is good?"""
        end = self._travel.end.position if self._to_end and event == self._high else None
        if end is None or not end.moves:
            return False
        self._end = end
        verdict = yield from self._ask(end, "events")
        if verdict == "undefined" and self._alive is not None:
            self._end, verdict = yield from self._ask_before(end)
        return verdict == "bad"

    def _edge(self, low: int, high: int) -> Pair:
        """Two instructions, good and bad, between two events, good and bad."""
        good, bad = low, high
        first, second = yield from self._halve_events(good, bad, lambda v: v == "bad")
        if self._alive is not None:
            place = self._places[second][0]
            if self._events_only:
                return self._places[first][0], place
            return (yield from self._within(first, place))
        if self._events_only:
            return (yield from self._last_good(good, first)), Position(second)
        before, after = yield from self._inside(first, second, lambda v: v == "bad")
        if self._known[before] == "good":
            return before, after
        # Undefined just before the bad one: find where it was good last.
        end = before
        if self._known[Position(first)] == "good":
            good = first
        elif good < first:
            good, second = yield from self._halve_events(good, first, lambda v: v != "good")
            end = Position(second)
        earlier, later = yield from self._between(Position(good), end, lambda v: v != "good")
        return (earlier, later if self._known[later] == "bad" else after)

    def _last_good(self, good: int, first: int) -> Generator[Probe, Verdict, Position]:
        """Event `first`, or the last good event before it if it is undefined there."""
        if self._known[Position(first)] != "good" and good < first:
            first, _ = yield from self._halve_events(good, first, lambda v: v != "good")
        return Position(first)

    def _halve_events(
        self, low: int, high: int, like_high: Callable[[Verdict], bool]
    ) -> Generator[Probe, Verdict, tuple[int, int]]:
        span = high - low
        while high - low > 1:
            self._done = 0.4 + 0.3 * (1 - (high - low).bit_length() / (span.bit_length() + 1))
            middle = (low + high) // 2
            soon = tuple(
                Position((first + last) // 2)
                for first, last in ((low, middle), (middle, high))
                if last - first > 1
            )
            verdict = yield from self._ask_event(middle, soon)
            if verdict == "undefined" and self._alive is not None:
                self._places[middle] = self._places[low]  # the newest known verdict
                verdict = self._places[low][1]
            for distance in range(1, NEIGHBOURS + 1):
                if verdict != "undefined" or self._alive is not None:
                    break
                for near in (middle - distance, middle + distance):
                    if verdict == "undefined" and low < near < high:
                        verdict = yield from self._ask_event(near)
                        middle = near if verdict != "undefined" else middle
            if like_high(verdict):
                high = middle
            else:
                low = middle
        return low, high


def _events(found: list[int]) -> str:
    return f"{len(found)} event{'' if len(found) == 1 else 's'}"
