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

from . import link, place, predicates, searching
from .evaluate import Judge
from .symbols import raising

_REASONS = 3
_BATCH = 64  # events that are looked at forwards on the way back
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
    elements: list[str]
    """That decided it."""

    @property
    def text(self) -> str:
        return "; ".join([str(link.ask("describe", f"{self.event},1")["text"]), *self.elements])


class Search:
    """Event by event: one at which it is true for a moment is found."""

    def __init__(self, query: str) -> None:
        self._of_log, conditions = split(query)
        self._judges = [Judge(one) for one in conditions]
        self._whys: Counter[str] = Counter()
        self.looked = 0
        self.undefined = 0
        self.interrupted = False

    @property
    def why_undefined(self) -> str:
        return ", ".join(why for why, _ in self._whys.most_common(_REASONS) if why)

    def run(self, first: int, last: int, backwards: bool = False) -> Iterator[Found]:
        """The rank stands somewhere else then."""
        progress = searching.Progress("find-event")
        info = link.ask("info")
        first, last = max(first, info["first_event"]), min(last, info["last_event"])

        def look(event: int, part: float = 0) -> None:
            if link.pressed():
                raise KeyboardInterrupt
            progress.say(1 - part if backwards else part, f", event {event}")
            place.seek(str(event))

        with link.calm(), raising():
            try:
                for judge in self._judges:
                    judge.bind(info["first_event"], info["last_event"], look)
                events = self._events(first, last, backwards)
                while batch := sorted(itertools.islice(events, _BATCH)):
                    true = []
                    for event in batch:
                        look(event, (event - first) / max(last - first, 1))
                        if self._is_true():
                            true.append(Found(event, [e for j in self._judges for e in j.decided]))
                            if not backwards:
                                yield true[-1]
                    if backwards:
                        yield from reversed(true)
            except KeyboardInterrupt:
                self.interrupted = True
            finally:
                progress.end()

    def _events(self, first: int, last: int, backwards: bool) -> Iterator[int]:
        """Of which the log says that they are meant."""
        if not self._of_log:
            yield from range(first, last + 1)[:: -1 if backwards else 1]
            return
        way = "prev" if backwards else "next"
        while first <= last:
            answer = searching.ask(
                "find-event", query=self._of_log, way=way, limit=_BATCH, first=first, last=last
            )
            if answer["interrupted"]:
                raise KeyboardInterrupt
            if not answer["rows"]:
                return
            for row in answer["rows"]:
                run = range(row["first"], row["last"] + 1)
                yield from run[:: -1 if backwards else 1]
                first, last = (first, run[0] - 1) if backwards else (run[-1] + 1, last)

    def _is_true(self) -> bool:
        verdicts = [judge.verdict() for judge in self._judges]
        whys = [why for verdict, why in verdicts if verdict == "undefined"]
        self.looked += 1
        self.undefined += bool(whys)
        self._whys.update(whys)
        return all(verdict == "good" for verdict, _ in verdicts)
