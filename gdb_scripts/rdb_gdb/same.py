"""Going on over events without GDB, as long as what an evaluation depended on is as it was.

What GDB has read of memory meanwhile the server has noticed; a replica runs on and looks after each
event whether that, and the registers that count, are as they were at one of the last evaluations.
Predicates over arrays it computes there, and GDB says of their values alone what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import gdb

from . import cpython, link, place
from .elementwise import NOTHING
from .evaluate import Judge
from .predicates import Evaluation

_TRIES = 16  # in vain: as many evaluations as a replica knows
_PAUSE_MAX = 256  # events that are evaluated alone then
Verdicts = list[tuple[str, str]]


@contextmanager
def exactly() -> Iterator[None]:
    """GDB reads what it needs, not what is near it."""
    kept = {name: gdb.parameter(name) for name in ("stack-cache", "code-cache")}
    for name in kept:
        gdb.execute(f"set {name} off", to_string=True)
    try:
        yield
    finally:
        for name, value in kept.items():
            gdb.execute(f"set {name} {'on' if value else 'off'}", to_string=True)


@dataclass(frozen=True)
class _State:
    """A row of the server's."""

    place: int
    refused: int
    values: tuple[tuple[float, float, int], ...]
    decided: bool
    """By an element."""


def _state(place: int, refused: int, values: list[tuple[float, float, int]]) -> _State:
    """Which element it was is nothing that counts."""
    numbered = enumerate(values)
    counting = ((high, low, at * (refused >> n & 1)) for n, (high, low, at) in numbered)
    decided = any(at != NOTHING for _, _, at in values)
    return _State(place, refused, tuple(counting), decided)


@dataclass
class _Known:
    """An evaluation of all judges, at one place."""

    verdicts: Verdicts
    evaluations: list[Evaluation]
    states: dict[_State, Verdicts | None] = field(default_factory=dict)


class Same:
    def __init__(self, judges: Sequence[Judge], hear: Callable[[float], None]) -> None:
        """HEAR: how far it is."""
        self._judges = judges
        self._hear = hear
        self._known: dict[int, _Known] = {}  # by the server's number
        self._here: int | None = None
        self._rows: list[tuple[int, _State]] = []  # from an event on, until the next
        self._in_vain = 0
        self._pause = 0
        self._fresh = True
        self.interrupted = False

    def notice(self) -> None:
        """Before an evaluation."""
        self._rows, self._here = [], None
        self._pause = max(self._pause - 1, 0)
        if not self._pause:
            _ask("notice", {"fresh": self._fresh})
            self._fresh = False
            cpython.noticed.begin()
            place.flush()

    def on(self, event: int, verdicts: Verdicts, last: int) -> int:
        """After the evaluation at EVENT, where one stands: up to which event all is known."""
        registers, folds = self._depends()
        if self._pause or registers is None or event >= last:
            return event

        def hear(answer: dict[str, Any]) -> None:
            self._hear(event + answer.get("progress", 0.0) * (last - event))

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
        """Registers and folds of all; None: nobody knows."""
        registers, folds = 0, []
        for judge in self._judges:
            mine = judge.binding.registers() if judge.binding else None
            if judge.binding is None or mine is None:
                return None, []
            registers |= mine
            try:
                folds += [plan.request() for plan in judge.binding.evaluation.folds]
            except gdb.error:
                return None, []  # what makes no sense
        return registers, folds

    def verdicts(self, events: Sequence[int]) -> dict[int, tuple[Verdicts | None, bool]]:
        """At events after the evaluation, in their order, and whether elements decided them; None:
        it has to be evaluated there."""
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
            for state, row in zip(mine, zip(*columns)):  # noqa: B905 - Python 3.9
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
            elif not one.whole:  # why does not depend on the arrays
                found[state] = known.verdicts[number]
            else:
                asked.append(state)
        values = [[state.values[fold][:2] for fold in mine] for state in asked]
        verdicts = self._judges[number].verdicts(one, values) if asked else []
        found.update(zip(asked, verdicts))  # noqa: B905 - Python 3.9
        return [found[state] for state in states]


def _ask(what: str, options: dict[str, Any], waiting: Any = None) -> dict[str, Any]:
    return link.ask(what, json.dumps(options).encode("utf-8").hex(), waiting)
