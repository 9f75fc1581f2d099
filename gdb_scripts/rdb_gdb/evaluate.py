"""Judging an expression at any position: good, bad, or undefined there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import gdb

from . import binding, link, place, searching
from .binding import Binding, Values
from .lookups import Unbound, Undefined
from .own_frames import lacks
from .predicates import Evaluation
from .words import functions_named

_LOOKS = 33  # events at which the names are looked for
_CALLS = 500


def _looks(first: int, last: int, of_log: str) -> Iterator[set[int]]:
    """Spread evenly; ever closer to both ends, as most events may be a program's start; then calls
    of MPI, of which a program that loads much has few."""
    if of_log:
        yield _some_of(of_log, first, last)
    yield {first + (last - first) * at // (_LOOKS - 1) for at in range(_LOOKS)}
    near = [1 << bit for bit in range(((last - first) // _LOOKS).bit_length())]
    yield {last - distance for distance in near}
    yield {first + distance for distance in near}
    yield _some_of("mpi", first, last)


def _some_of(query: str, first: int, last: int) -> set[int]:
    # Not `all`: that reads the whole log, to count them.
    options = {"query": query, "way": "next", "limit": _CALLS, "first": first, "last": last}
    found = [row["event"] for row in searching.ask("find-event", **options)["rows"]]
    return set(found[:: -(-len(found) // _LOOKS) or 1])


class Judge:
    """Binds the expression to the variables that the user means, and says what it is anywhere."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.binding: Binding | None = None
        self._problem = ""
        self._missing: str | None = None
        self._whys: Counter[str] = Counter()

    def bind(
        self,
        first: int,
        last: int,
        seek: Callable[[int, float], None],
        of_log: str = "",
    ) -> None:
        """To what the names mean here, else at one of a few events between the two, those first of
        which OF_LOG is true, else in a function that is named.  `seek` goes to an event, and hears
        how far this is."""
        if self._bound():
            return
        looked: set[int] = set()
        for wanted in _looks(first, last, of_log):
            events = sorted(wanted - looked)
            for number, event in enumerate(events):
                seek(event, number / len(events))
                looked.add(event)
                if number + 1 < len(events):
                    link.ask("ahead", str(events[number + 1]))
                if self._bound():
                    return
                if self._missing is not None and lacks(self._missing):
                    raise Undefined(
                        f"{self._problem}: the program has no such variable, nor a function."
                    )
        for pc in functions_named(self.expression):
            seek(last, 1)
            arrival = searching.ask("last-at", addr=pc, sp=None)["position"]
            if arrival is None:
                continue
            place.seek(arrival)
            if self._bound():
                return
        if not self._problem:
            self.binding = Binding(self.expression, gdb.newest_frame())
            return
        hint = (
            "  A name can be told by its function (main::x) or its file ('heat.c'::x), and a value "
            "by its address (*(double *) 0x...)."
        )
        raise Undefined(
            f"{self._problem}: undefined at all {len(looked)} events that were looked at."
            f"{hint if self._missing is not None else ''}"
        )

    def _bound(self) -> bool:
        try:
            self.binding = binding.bind(self.expression)
        except Unbound as unbound:
            if unbound.name is None:  # why it cannot be used says more than that it is not there
                self._whys[str(unbound)] += 1
                self._problem, self._missing = self._whys.most_common(1)[0][0], None
            elif not self._problem:
                self._problem, self._missing = str(unbound), unbound.name
        return self.binding is not None

    @property
    def exits(self) -> list[int]:
        """Instructions at which it may have a value, although it has none at an event."""
        try:
            return [] if self.binding is None else self.binding.exits()
        except (Undefined, gdb.error):
            return []  # nothing is known of it

    @property
    def described(self) -> str:
        return "" if self.binding is None else self.binding.described

    def value(self) -> Any:
        """The value here, or None."""
        try:
            return self._value()
        except Undefined:
            return None

    @property
    def decided(self) -> list[str]:
        """The elements of arrays that decided the last value, by the program's names."""
        return [] if self.binding is None else self.binding.decided()

    def operands(self) -> list[tuple[int, int]]:
        """(address, length) of what it reads here."""
        try:
            return [] if self.binding is None else self.binding.operands()
        except Undefined:
            return []

    def verdict(self) -> tuple[str, str]:
        """good, bad or undefined, and why it is undefined."""
        try:
            return ("good" if binding.truth(self._value()) else "bad"), ""
        except (Undefined, gdb.error) as undefined:  # what a reference refers to cannot be read
            return "undefined", str(undefined).rstrip(".")

    def verdicts(self, evaluation: Evaluation, values: list[Values]) -> list[tuple[str, str]]:
        """As `verdict`, if predicates had each of these values."""
        assert self.binding is not None
        found = []
        for one in self.binding.again(evaluation, values):
            if isinstance(one, Undefined):
                found.append(("undefined", str(one).rstrip(".")))
            else:
                found.append(("good" if binding.truth(one) else "bad", ""))
        return found

    def _value(self) -> Any:
        assert self.binding is not None  # bind comes first
        return self.binding.value()
