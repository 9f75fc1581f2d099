"""Events right after which predicates over the program's arrays are true.

`mpi.recv and !allfinite(u)`: of a query the parts between `and` that have a predicate are asked of
the program after each event of which the log says that the rest is true.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import gdb

from . import link, place, predicates, searching
from .evaluate import Judge
from .same import Same, exactly
from .symbols import raising

_REASONS = 3
_BATCH = 64  # events that are looked at forwards on the way back, at first
_BATCH_MAX = 4096
_AND = re.compile(r"\s+and\s+")
_NAME_BEFORE = re.compile(r"(?!not\b|sizeof\b)([A-Za-z_][\w.]*)\s+(?=[\w(!'\"-])")


def split(query: str) -> tuple[str, list[str]]:
    """What the log is asked, and what the program is."""
    of_log: list[str] = []
    of_program: list[str] = []
    for part in _AND.split(query.strip()):
        if not predicates.arguments(part):
            of_log.append(part)
            continue
        named = _NAME_BEFORE.match(part)  # `mpi.recv !allfinite(u)` needs no `and`
        of_log += [named[1]] if named else []
        of_program.append(part[named.end() :] if named else part)
    return " and ".join(of_log), of_program


@dataclass(frozen=True)
class Found:
    event: int
    search: Search
    elements: list[str] | None
    """That decided it; None: one has to go there to see."""

    @property
    def text(self) -> str:
        """The rank stands there then, if it has to go."""
        elements = self.search.elements(self.event) if self.elements is None else self.elements
        return "; ".join([str(link.ask("describe", f"{self.event},1")["text"]), *elements])


Verdicts = list[tuple[str, str]]


class Search:
    """Event by event: one at which it is true for a moment is found."""

    def __init__(self, query: str) -> None:
        self._of_log, conditions = split(query)
        self._judges = [Judge(one) for one in conditions]
        self._whys: Counter[str] = Counter()
        self._progress = searching.Progress("find-event")
        self._span = (0, 0)
        self.looked = 0
        self.undefined = 0
        self.interrupted = False

    @property
    def why_undefined(self) -> str:
        return ", ".join(why for why, _ in self._whys.most_common(_REASONS) if why)

    def run(self, first: int, last: int, backwards: bool = False) -> Iterator[Found]:
        """The rank stands somewhere else then."""
        info = link.ask("info")
        first, last = max(first, info["first_event"]), min(last, info["last_event"])
        self._span = (last, first) if backwards else (first, last)
        try:
            with link.calm(), raising():
                for judge in self._judges:
                    judge.bind(info["first_event"], info["last_event"], self._look, self._of_log)
                # GDB 13 dies where one leaves an outer frame that is selected without its cache.
                gdb.newest_frame().select()
                with exactly():
                    yield from self._found(first, last, backwards)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._progress.end()

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
        """That decide it at an event at which it is true."""
        self._look(event)
        if any(judge.verdict()[0] != "good" for judge in self._judges):
            raise gdb.GdbError(
                f"find-event: at event {event} it is true, and is not when looked again"
            )
        return self._elements()

    def _elements(self) -> list[str]:
        return [element for judge in self._judges for element in judge.decided]

    def _among(self, events: Iterator[int], last: int, same: Same) -> Iterator[Found]:
        """Of these, in their order."""
        event = next(events, None)
        while event is not None:
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
                if judged is None:  # it has to be looked at
                    rest = known[number:] if event is None else [*known[number:], event]
                    events = itertools.chain(rest[1:], events)
                    event = rest[0]
                    break
                if self._true(judged):
                    yield Found(one, self, None if decided else [])
            if same.interrupted:
                raise KeyboardInterrupt

    def _look(self, event: int, part: float | None = None) -> None:
        """Goes there."""
        if link.pressed():
            raise KeyboardInterrupt
        self._hear(event, part)
        place.seek(str(event))

    def _hear(self, event: float, part: float | None = None) -> None:
        first, last = self._span
        if part is None:
            part = (event - first) / (last - first) if last != first else 0.0
        self._progress.say(min(max(part, 0.0), 1.0), f", event {event:.0f}")

    def _events(self, first: int, last: int, backwards: bool) -> Iterator[int]:
        """Of which the log says that they are meant."""
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
        return all(verdict == "good" for verdict, _ in verdicts)
