"""Bisect: where an expression first (or last) turned from good to bad.

Evaluating the expression is somebody else's business (GDB, in another process), so the search asks:

    search = Bisect(timeline)                  # or Bisect(timeline, last=True)
    ask = search.start()
    while isinstance(ask, Probe):
        timeline.seek(ask.position)            # then evaluate there:
        ask = search.answer("good")            # or "bad", or "undefined" (out of scope, unreadable)
    ask.before, ask.after                      # a Result: one instruction apart

`start` and `answer` raise Refused when there is nothing to find (good at the end, bad at the
start, undefined everywhere), and Unstable when the verdicts contradict each other.  Nothing moves
the timeline but the driver.

First events are sampled evenly and halved, then the instructions inside the last interval.  An
undefined verdict is neither: its neighbours are tried or, if it is known where the expression may
have a value between events (`alive`), the last place before the event where it has one.  What is
undefined right between good and bad is said so (`Result.gap`).  The answer was verified: good at
`before`, bad at `after`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rdb.errors import RdbError
from rdb.timeline.alive import Alive
from rdb.timeline.asking import NEIGHBOURS, Probe, Verdict
from rdb.timeline.inside import Inside, Pair
from rdb.timeline.position import Position
from rdb.timeline.timeline import Timeline

_SAMPLES = 33
_SAMPLES_MAX = 513


class Refused(RdbError):
    """There is no change from good to bad to be found."""

    exit_code = 1


class Unstable(RdbError):
    """The same position was judged differently: the expression depends on more than the state."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Result:
    """Good at `before`; bad at `after`, which is one instruction later unless there is a gap."""

    before: Position
    after: Position
    event: int  # the last event answered before it
    probes: int
    undefined: int  # probes where the expression had no value
    why_undefined: str
    gap: bool  # between the two it is undefined


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
    ) -> None:
        travel = timeline.travel
        low = travel.origin.event if low is None else low
        super().__init__(travel, low, Alive(travel, alive) if alive else None, last)
        self._high = travel.last_event if high is None else high
        self._to_end = high is None  # also what follows the last event
        self._events_only = events_only
        self._end = Position(self._high)
        if self._low > self._high:
            raise Refused(f"no event lies between {self._low} and {self._high}")
        self.so_far = ""
        """What is worth telling before the search ends."""
        self._search = self._run()

    def start(self) -> Probe | Result:
        return self._next(lambda: next(self._search))

    def answer(self, verdict: Verdict, why: str = "") -> Probe | Result:
        """WHY it is undefined, in the words of who has evaluated it."""
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

    # The search.

    def _run(self) -> Search:
        found = yield from self._sample()
        if found is None:
            before, after = yield from self._within(self._high, self._end)
        else:
            before, after = yield from self._edge(*found)
        for position, expected in ((before, "good"), (after, "bad")):
            verdict = yield Probe(position, "verify", 0.99)
            if verdict != expected:
                raise Unstable(f"{position} was judged {expected}, and then {verdict}")
        return Result(
            before,
            after,
            before.event,
            self._probes,
            self._undefined,
            self._why(),
            gap=self._known_gap(before, after),
        )

    @property
    def known(self) -> str:
        """What the verdicts so far say, for a search that is ended early."""
        events = sorted(
            (place.event, verdict) for place, verdict in self._known.items() if not place.moves
        )
        bad = [event for event, verdict in events if verdict == "bad"]
        good = [event for event, verdict in events if verdict == "good"]
        if self._last and good:
            later = [event for event in bad if event > good[-1]]
            return f"last seen good at event {good[-1]}" + (
                f", bad again at event {later[0]}" if later else ""
            )
        if not bad:
            return f"good at {len(good)} events, bad at none" if good else "nothing yet"
        before = [event for event in good if event < bad[0]]
        return f"bad at event {bad[0]}" + (f", good before at event {before[-1]}" if before else "")

    def _known_gap(self, before: Position, after: Position) -> bool:
        return (before, after) not in self._adjacent

    def _sample(self) -> Generator[Probe, Verdict, tuple[int, int] | None]:
        """Two sampled events, good and bad, that are nearest to what is asked for; None: it is
        good at the last event, and bad at the end of the recording."""
        span = self._high - self._low
        wanted = _SAMPLES
        while True:
            count = min(wanted, span + 1)
            events = [self._low + span * i // max(count - 1, 1) for i in range(count)]
            judged: list[tuple[int, Verdict]] = []
            done = self._done
            for index, event in enumerate(events):
                self._done = done + (0.4 - done) / 2 * index / count
                soon = tuple(Position(later) for later in events[index + 1 : index + 2])
                yield from self._ask(Position(event), "events", soon)
            # The last first: what comes before one place is what comes before others.
            for event in reversed(events):
                verdict = yield from self._ask_event(event)
                if verdict != "undefined":
                    judged.insert(0, (event, verdict))
            if judged or wanted >= min(_SAMPLES_MAX, span + 1):
                break
            self.so_far = f"no value at {count} events so far: {self._why()}"
            wanted = 2 * wanted - 1  # those that have been looked at, and one between any two
        if not judged:
            raise Refused(f"undefined at all {count} events that were looked at: {self._why()}")
        judged = [*(yield from self._defined_before(events, judged)), *judged]
        edges = [
            (low, high)
            for (low, first), (high, second) in pairwise(judged)
            if first == "good" and second == "bad"
        ]
        if judged[0][1] == "bad":
            event = self._places[judged[0][0]][0].event
            good = edges[0][0] if edges else None
            again = f"; true at event {good} (--from {good} begins there)" if edges else ""
            if event > self._low:
                raise Refused(
                    f"bad where it first has a value (event {event}), undefined before: "
                    f"{self._why()}{again}"
                )
            raise Refused(f"bad at the start already (event {event}){again}")
        event, verdict = judged[-1]
        if verdict == "good" and event < events[-1]:
            later = events[events.index(event) + 1]
            event, other = yield from self._halve_events(event, later, lambda one: one != "good")
            if self._places[other][1] == "undefined":
                raise Refused(f"good as long as it had a value{self._looked()}")
            edges.append((event, other))
        elif verdict == "good":
            if (yield from self._turns_after(event)):
                return None if self._last or not edges else edges[0]
            if self._places[event][0].event < event:
                raise Refused(f"good as long as it had a value{self._looked()}")
            raise Refused(f"still good at the end (event {event}){self._looked()}")
        return edges[-1 if self._last else 0]

    def _looked(self) -> str:
        """At how many events it was what, and why it had no value, if it was not good at all."""
        at: dict[str, list[int]] = {"good": [], "bad": [], "undefined": []}
        for event, (place, verdict) in self._places.items():
            # Where it is known from before, it has none at the event.
            at[verdict if place.event >= event - 1 else "undefined"].append(event)
        good, bad, undefined = (at[one] for one in ("good", "bad", "undefined"))
        said = ""
        if good and (bad or undefined):
            said += f"; true at {_events(good)} up to {max(good)}"
        if bad:
            said += f", false at {_events(bad)} up to {max(bad)} (--to {max(bad)} finds that)"
        if undefined:
            said += f", undefined at the other {len(undefined)} that were looked at: {self._why()}"
        return said

    def _defined_before(
        self, events: list[int], judged: list[tuple[int, Verdict]]
    ) -> Generator[Probe, Verdict, list[tuple[int, Verdict]]]:
        """The first event where it has a value, if the first sample that has one is later, and bad
        already."""
        event, verdict = judged[0]
        index = events.index(event)
        if verdict != "bad" or index == 0:
            return []
        _, first = yield from self._halve_events(
            events[index - 1], event, lambda one: one != "undefined"
        )
        return [(first, self._places[first][1])] if first < event else []

    def _turns_after(self, event: int) -> Generator[Probe, Verdict, bool]:
        """Is it bad where the recording ends, after its last event, at which it was good?"""
        end = self._travel.end.position if self._to_end and event == self._high else None
        if end is None or not end.moves:
            return False
        self._end = end
        verdict = yield from self._ask(end, "events")
        if verdict == "undefined" and self._alive is not None:
            self._end, verdict = yield from self._ask_before(end)
        return verdict == "bad"

    def _edge(self, low: int, high: int) -> Pair:
        """From two events, good and bad, to two instructions."""
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
        """`first`, unless it is undefined there: then the last good event before it."""
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
                self._places[middle] = self._places[low]  # the last one that is known
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
