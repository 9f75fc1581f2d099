"""Runs over events without GDB while what an evaluation depended on does not change.

The server notes what memory GDB reads in an evaluation.  Then a replica runs on, and compares after
each event that memory, and the registers that count, with those of the last evaluations (lookouts).
It also computes the predicates over arrays; GDB turns their values into verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gdb

from .. import link
from ..state import place
from ..values import cpython, predicates
from ..values.binding import Values
from ..values.elementwise import NOTHING
from ..values.predicates import Evaluation
from .evaluate import Judge

_TRIES = 16  # failed attempts before a pause: as many lookouts as a replica has
_PAUSE_MAX = 256  # events that are evaluated by GDB alone in a pause
Verdicts = list[tuple[str, str]]


@contextmanager
def exactly() -> Iterator[None]:
    """Context in which GDB reads only the memory that it needs, without its caches, and leaves
    scalars to the agent."""
    kept = {name: gdb.parameter(name) for name in ("stack-cache", "code-cache")}
    for name in kept:
        gdb.execute(f"set {name} off", to_string=True)
    try:
        with predicates.of_scalars():
            yield
    finally:
        for name, value in kept.items():
            gdb.execute(f"set {name} {'on' if value else 'off'}", to_string=True)


class _State(NamedTuple):
    """A row of the server's answer, without the event."""

    place: int
    refused: int
    values: tuple[tuple[float, float, int], ...]
    decided: bool
    """An array element decided it."""


def _state(place: int, refused: int, values: list[tuple[float, float, int]]) -> _State:
    """Converts a row.  Which element decided does not matter, so it is left out."""
    numbered = enumerate(values)
    counting = ((high, low, at * (refused >> n & 1)) for n, (high, low, at) in numbered)
    decided = any(at != NOTHING for _, _, at in values)
    return _State(place, refused, tuple(counting), decided)


@dataclass
class _Known:
    """An evaluation of all judges, in one lookout of the server."""

    verdicts: Verdicts
    evaluations: list[Evaluation]
    states: dict[_State, Verdicts | None] = field(default_factory=dict)


class Same:
    def __init__(self, judges: Sequence[Judge], hear: Callable[[float], bool]) -> None:
        """HEAR is called with the event reached; it is true if that is enough."""
        self._judges = judges
        self._hear = hear
        self._known: dict[int, _Known] = {}  # by the server's number of the lookout
        self._here: int | None = None
        self._rows: list[tuple[int, _State]] = []  # (event, state until the next row's event)
        self._in_vain = 0
        self._pause = 0
        self._fresh = True
        self.interrupted = False

    def notice(self) -> None:
        """Call it before an evaluation."""
        self._rows, self._here = [], None
        self._pause = max(self._pause - 1, 0)
        if not self._pause:
            _ask("notice", {"fresh": self._fresh})
            self._fresh = False
            cpython.noticed.begin()
            place.flush()

    def on(self, event: int, verdicts: Verdicts, last: int) -> int:
        """Call it after the evaluation at EVENT; the last event up to which the verdicts are
        known."""
        registers, folds = self._depends()
        if self._pause or registers is None or event >= last:
            return event

        def hear(answer: dict[str, Any]) -> bool:
            return self._hear(event + answer.get("progress", 0.0) * (last - event))

        python = cpython.noticed
        request = {
            "folds": folds,
            "registers": registers,
            "last": last,
            "fetched": list(python.fetched),
            "needed": list(python.needed),
        }
        answer = _ask("same-on", request, hear)
        self.interrupted = answer["interrupted"]
        if answer["place"] is None:
            return event
        self._here = answer["place"]
        evaluations = [judge.binding.evaluation for judge in self._judges if judge.binding]
        self._known[answer["place"]] = _Known(verdicts, evaluations)
        self._rows = [(row[0], _state(*row[1:])) for row in answer["rows"]]
        checked: int = answer["checked"]
        self._in_vain = 0 if checked > event else self._in_vain + 1
        if self._in_vain > _TRIES:
            self._pause = min(2 ** (self._in_vain - _TRIES), _PAUSE_MAX)
        return checked

    def _depends(self) -> tuple[int | None, list[dict[str, Any]]]:
        """Registers and folds that all judges depend on; None: not known."""
        registers, folds = 0, []
        for judge in self._judges:
            mine = judge.binding.registers() if judge.binding else None
            if judge.binding is None or mine is None:
                return None, []
            registers |= mine
            try:
                folds += [plan.request() for plan in judge.binding.evaluation.folds]
            except gdb.error:
                return None, []  # the expression has an error
        return registers, folds

    def verdicts(self, events: Sequence[int]) -> dict[int, tuple[Verdicts | None, bool]]:
        """Event -> (verdicts, did elements decide them?); verdicts None: evaluate it there.

        EVENTS: events after the evaluation, in order.
        """
        states: dict[int, _State] = {}
        number = 0
        for event in events:
            while number + 1 < len(self._rows) and self._rows[number + 1][0] <= event:
                number += 1
            states[event] = self._rows[number][1]
        self._judge(list(dict.fromkeys(states.values())))
        return {
            event: (self._known[one.place].states[one], one.decided)
            for event, one in states.items()
        }

    def _judge(self, states: list[_State]) -> None:
        by_place: dict[int, list[_State]] = {}
        for state in states:
            if state not in self._known[state.place].states:
                by_place.setdefault(state.place, []).append(state)
        for at, mine in by_place.items():
            known = self._known[at]
            columns = [self._of_judge(number, at, mine) for number in range(len(self._judges))]
            for state, row in zip(mine, zip(*columns)):
                whole = [one for one in row if one is not None]
                known.states[state] = whole if len(whole) == len(row) else None

    def _of_judge(self, number: int, at: int, states: list[_State]) -> list[tuple[str, str] | None]:
        known = self._known[at]
        one = known.evaluations[number]
        start = sum(len(other.folds) for other in known.evaluations[:number])
        mine = range(start, start + len(one.folds))
        found: dict[_State, tuple[str, str] | None] = {}
        asked: list[_State] = []
        for state in states:
            refused = next((fold for fold in mine if state.refused >> fold & 1), None)
            if refused is not None:
                why = f"memory at {state.values[refused][2]:#x} cannot be read"
                found[state] = ("undefined", why)
            elif one.refused or (one.whole and one.needs_place and at != self._here):
                found[state] = None
            elif not one.whole:  # undefined for a reason that does not depend on arrays
                found[state] = known.verdicts[number]
            else:
                asked.append(state)
        values: list[Values] = [[state.values[fold][:2] for fold in mine] for state in asked]
        verdicts = self._judges[number].verdicts(one, values) if asked else []
        found.update(zip(asked, verdicts))
        return [found[state] for state in states]


def _ask(what: str, options: dict[str, Any], waiting: Any = None) -> dict[str, Any]:
    return link.ask(what, json.dumps(options).encode("utf-8").hex(), waiting)
