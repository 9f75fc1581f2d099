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

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

from rdb.errors import RdbError
from rdb.timeline import narrow
from rdb.timeline.alive import Alive
from rdb.timeline.position import Hit, Position, Steps
from rdb.timeline.timeline import Timeline

Verdict = Literal["good", "bad", "undefined"]
_SAMPLES = 33
_SAMPLES_MAX = 513
_NEIGHBOURS = 8
_REASONS = 3


class Refused(RdbError):
    """There is no change from good to bad to be found."""

    exit_code = 1


class Unstable(RdbError):
    """The same position was judged differently: the expression depends on more than the state."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Probe:
    """Go there, evaluate, answer."""

    position: Position
    stage: Literal["events", "instructions", "verify"]
    done: float  # 0..1, roughly
    soon: tuple[Position, ...] = ()  # what may be asked for next


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
Pair = Generator[Probe, Verdict, tuple[Position, Position]]


class Bisect:
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
        self._travel = travel
        self._last = last
        self._low = travel.origin.event if low is None else low
        self._high = travel.last_event if high is None else high
        self._to_end = high is None  # also what follows the last event
        self._events_only = events_only
        self._end = Position(self._high)
        self._alive = Alive(travel, alive) if alive else None
        if self._low > self._high:
            raise Refused(f"no event lies between {self._low} and {self._high}")
        self._known: dict[Position, Verdict] = {}
        self._places: dict[int, tuple[Position, Verdict]] = {}  # of events
        self._spans: list[tuple[int, int, Position, Verdict]] = []  # of events with one place
        self._whys: Counter[str] = Counter()
        self._probes = self._undefined = 0
        self._done = 0.0
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
        """There, or where it had a value last before."""
        place = Position(event)
        verdict = yield from self._ask(place, "events", soon)
        if verdict == "undefined" and self._alive is not None:
            place, verdict = yield from self._ask_before(place)
        self._places[event] = place, verdict
        return verdict

    def _ask_before(self, here: Position) -> Generator[Probe, Verdict, tuple[Position, Verdict]]:
        """Where it had a value last before HERE; undefined: nowhere."""
        assert self._alive is not None
        event = here.event + bool(here.moves)
        for first, last, place, verdict in self._spans:
            if first <= event <= last:
                return place, verdict
        low, place, verdict = self._low, here, "undefined"
        without: set[int] = set()
        before = here
        while len(without) < _NEIGHBOURS:
            found = self._alive.last(before, without)
            if found is None or found.event < self._low:
                break
            judged = yield from self._ask(found, "events")
            if judged != "undefined":
                low, place, verdict = found.event + 1, found, judged
                break
            without.add(self._alive.pc_of(found))
            before = found
        # What was passed over may have had a value just before: then an event that is known to
        # have one is nearer.
        known = [one for one, said in self._known.items() if said != "undefined" and not one.moves]
        nearer = max(
            (one for one in known if one.event < event), key=lambda one: one.event, default=None
        )
        if verdict != "undefined" and nearer is not None and nearer.event > place.event:
            low, place, verdict = nearer.event + 1, nearer, self._known[nearer]
        self._spans.append((low, event, place, verdict))
        return place, verdict

    def _run(self) -> Search:
        self._adjacent: set[tuple[Position, Position]] = set()
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

    def _why(self) -> str:
        """The reasons why it had no value, the most frequent first."""
        return ", ".join(why for why, _ in self._whys.most_common(_REASONS) if why)

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

    def _within(self, event: int, high: Position) -> Pair:
        """From an event that counts as good to a bad place before, or at, the next one."""
        good, start = self._places[event][0], Position(event)
        low, high = yield from self._closer(start, high)
        before, after = yield from self._between(low, high, lambda v: v == "bad")
        if self._known[before] != "undefined":
            return before, after
        if self._known[low] == "undefined":  # and up to there since it was good last
            return good, after
        before, later = yield from self._between(low, before, lambda v: v != "good")
        return before, later if self._known[later] == "bad" else after

    def _closer(
        self, low: Position, high: Position
    ) -> Generator[Probe, Verdict, tuple[Position, Position]]:
        """A place that is not bad and a bad one; between the two it keeps a value, or has none."""
        without: set[int] = set()
        while self._alive is not None and len(without) < _NEIGHBOURS:
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

    def _renamed(self, start: Position, low: Position, high: Position) -> Position:
        """`high`, which is named from START, from LOW, which is on the way."""
        if not _apart(low, high):
            return high
        pc = narrow.pc_at(self._travel, high)
        left = narrow.passed(self._travel, start, high, pc)
        return self._named_from(low, high, pc, left - narrow.passed(self._travel, start, low, pc))

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
            for distance in range(1, _NEIGHBOURS + 1):
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

    def _inside(self, low: int, high: int, like_high: Callable[[Verdict], bool]) -> Pair:
        return (yield from self._between(Position(low), Position(high), like_high))

    def _between(self, low: Position, high: Position, like_high: Callable[[Verdict], bool]) -> Pair:
        """Two positions one instruction apart, the second like `high`, the first not."""
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
        """`high` as LEFT arrivals at PC, its own, after `low`, if its name is not from there: two
        arrivals may be further apart than a window, and be told apart by those at another pc."""
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
        """Halves 0..count, where 0 is `low` and `count` is `high`."""
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


def _events(found: list[int]) -> str:
    return f"{len(found)} event{'' if len(found) == 1 else 's'}"


def _apart(low: Position, high: Position) -> bool:
    """Does the way that names `high` not lead through `low`, before it in the same interval?"""
    return high.event == low.event and high.after(low) is None
