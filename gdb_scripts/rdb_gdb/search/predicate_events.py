"""Events right after which an expression of the program is true.

`mpi.recv and !allfinite(u)`, `step > 3`: the log answers the parts of a query about events.  Parts
with a predicate, or with names that are neither events nor fields, are evaluated in the program
after each event of which the other parts are true.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import gdb

from .. import link
from ..state import place
from ..values import predicates
from ..values.lookups import Undefined
from ..values.quoting import Unreadable
from ..values.symbols import raising
from . import searching
from .evaluate import Judge
from .same import Same, exactly

_REASONS = 3
_BATCH = 64  # size of the first batch; on the way back each batch is searched forwards
_BATCH_MAX = 4096
_AND = re.compile(r"\s+and\s+")
_NAME_BEFORE = re.compile(r"(?!not\b|sizeof\b)([A-Za-z_][\w.]*)\s+(?=[\w('\"]|!(?!=)|-\S)")


def split(query: str) -> tuple[str, dict[str, str]]:
    """The part of a query for the log; the parts for the program, each with a hint."""
    if _is_of_log(query)[0]:
        return query, {}
    of_log: list[str] = []
    of_program: dict[str, str] = {}
    for part in _AND.split(query.strip()):
        is_of_log, hint = _is_of_log(part)
        if is_of_log:
            of_log.append(part)
            continue
        named = _NAME_BEFORE.match(part)  # `mpi.recv !allfinite(u)` needs no `and`
        # Alone, a name that is nearly that of an event would be a query with a mistake.
        if named is not None and _is_of_log(f"{named[1]} and event >= 0")[0]:
            of_log.append(named[1])
            part = part[named.end() :]
        of_program[part] = hint
    return " and ".join(of_log), of_program


def _is_of_log(part: str) -> tuple[bool, str]:
    if predicates.arguments(part):
        return False, ""
    answer = searching.ask("of-events", query=part)
    return answer["of_events"], answer["hint"]


class Found(NamedTuple):
    event: int
    search: Search
    elements: list[str] | None
    """Array elements that decided it; None: the rank must go there to know them."""

    @property
    def text(self) -> str:
        """Text of the event and the deciding elements; the rank may move there."""
        elements = self.search.elements(self.event) if self.elements is None else self.elements
        return "; ".join([str(link.ask("describe", f"{self.event},1")["text"]), *elements])


Verdicts = list[tuple[str, str]]


class Search:
    """Searches event by event, so that an event at which it is true only briefly is found."""

    def __init__(
        self,
        query: str,
        judges: Sequence[Judge] = (),
        called: str = "find-event",
        wanted: str = "good",
        patience: searching.Patience | None = None,
    ) -> None:
        """JUDGES: further expressions, which may be bound already.  CALLED: name in the progress
        line.  WANTED: the verdict of all expressions.  At the end of its PATIENCE the search
        gives up."""
        self._of_log, self._hints = split(query)
        self._judges = [*judges, *map(Judge, self._hints)]
        self._wanted = wanted
        self._patience = patience or searching.Patience()
        self._whys: Counter[str] = Counter()
        self._progress = searching.Progress(called)
        self._span = (0, 0)
        self.looked = 0
        self.undefined = 0
        self.given_up: int | None = None
        """The event at which it was."""
        self.interrupted = False

    @property
    def bound(self) -> str:
        """The variables of all expressions, as text."""
        return "; ".join(judge.bound for judge in self._judges if judge.bound)

    @property
    def why_undefined(self) -> str:
        return ", ".join(why for why, _ in self._whys.most_common(_REASONS) if why)

    def run(self, first: int, last: int, backwards: bool = False) -> Iterator[Found]:
        """The events found between FIRST and LAST.  The rank moves.  Raises Undefined."""
        info = link.ask("info")
        first, last = max(first, info["first_event"]), min(last, info["last_event"])
        self._span = (last, first) if backwards else (first, last)
        try:
            with link.calm(), raising():
                for judge in (one for one in self._judges if one.binding is None):
                    self._bind(judge, info["first_event"], info["last_event"])
                # GDB 13 crashes when an outer frame is selected and the stack cache is turned off.
                gdb.newest_frame().select()
                with exactly():
                    yield from self._found(first, last, backwards)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._progress.end()

    def _bind(self, judge: Judge, first: int, last: int) -> None:
        try:
            judge.bind(first, last, self._look, self._of_log)
        except Unreadable:
            raise Undefined(
                f"{judge.expression} is neither a query, for example read fd==3 and result<0, nor "
                "an expression of the program's language"
            ) from None
        except Undefined as undefined:
            hint = self._hints.get(judge.expression, "")
            if not hint.startswith("did you mean"):
                raise
            raise Undefined(f"{undefined}  As a field of events, {hint}") from None

    def _found(self, first: int, last: int, backwards: bool) -> Iterator[Found]:
        same = Same(self._judges, self._hear)
        events = self._events(first, last, backwards)
        if not backwards:
            yield from self._among(events, last, same)
            return
        size = _BATCH
        while batch := sorted(itertools.islice(events, size)):
            yield from reversed(list(self._among(iter(batch), batch[-1], same)))
            size = min(2 * size, _BATCH_MAX)

    def elements(self, event: int) -> list[str]:
        """The elements that decide it at an event at which it is true."""
        self._look(event)
        if any(judge.verdict()[0] != self._wanted for judge in self._judges):
            raise gdb.GdbError(
                f"find-event: at event {event} the query was true once, but not the second time"
            )
        return self._elements()

    def _elements(self) -> list[str]:
        return [element for judge in self._judges for element in judge.decided]

    def _among(self, events: Iterator[int], last: int, same: Same) -> Iterator[Found]:
        """Those of EVENTS at which it is true, in order."""
        event = next(events, None)
        while event is not None:
            if self._patience.ended:
                self.given_up = event
                return
            self._look(event)
            same.notice()
            verdicts = [judge.verdict() for judge in self._judges]
            until = same.on(event, verdicts, last)
            if self._true(verdicts):
                yield Found(event, self, self._elements())
            event = next(events, None)
            known: list[int] = []
            while event is not None and event <= until:
                known.append(event)
                event = next(events, None)
            of_known = same.verdicts(known)
            for number, one in enumerate(known):
                judged, decided = of_known[one]
                if judged is None:  # it must be evaluated there
                    rest = known[number:] if event is None else [*known[number:], event]
                    events = itertools.chain(rest[1:], events)
                    event = rest[0]
                    break
                if self._true(judged):
                    yield Found(one, self, None if decided else [])
            if same.interrupted and not self._patience.ended:
                raise KeyboardInterrupt

    def _look(self, event: int, part: float | None = None) -> None:
        """Goes to an event.  Raises KeyboardInterrupt if Ctrl-C was pressed."""
        if link.pressed():
            raise KeyboardInterrupt
        self._hear(event, part)
        place.seek(str(event))

    def _hear(self, event: float, part: float | None = None) -> bool:
        first, last = self._span
        if part is None:
            part = (event - first) / (last - first) if last != first else 0.0
        self._progress.say(min(max(part, 0.0), 1.0), f", event {event:.0f}")
        return self._patience.ended

    def _events(self, first: int, last: int, backwards: bool) -> Iterator[int]:
        """Events of which the log's part of the query is true."""
        if not self._of_log:
            yield from range(first, last + 1)[:: -1 if backwards else 1]
            return
        way = "prev" if backwards else "next"
        limit = _BATCH
        while first <= last:
            answer = searching.ask(
                "find-event", query=self._of_log, way=way, limit=limit, first=first, last=last
            )
            if answer["interrupted"]:
                raise KeyboardInterrupt
            if not answer["rows"]:
                return
            for row in answer["rows"]:
                run = range(row["first"], row["last"] + 1)
                yield from run[:: -1 if backwards else 1]
                first, last = (first, run[0] - 1) if backwards else (run[-1] + 1, last)
            limit = min(2 * limit, _BATCH_MAX)

    def _true(self, verdicts: Verdicts) -> bool:
        whys = [why for verdict, why in verdicts if verdict == "undefined"]
        self.looked += 1
        self.undefined += bool(whys)
        self._whys.update(whys)
        return all(verdict == self._wanted for verdict, _ in verdicts)
