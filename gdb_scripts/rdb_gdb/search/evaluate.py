"""The verdict on an expression at any position: good, bad or undefined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import gdb

from .. import link
from ..state import place
from ..values import alive, binding, cpython, homes, pynames
from ..values.binding import Binding, Values
from ..values.lookups import Meaningless, Unbound, Undefined, Unsuited
from ..values.own_frames import lacks
from ..values.predicates import Evaluation
from ..values.symbols import speaking
from ..values.words import functions_named, names_of_python, unknown_everywhere
from . import searching, stores

_LOOKS = 33  # events at which the names are searched
_GOLDEN = 0.6180339887  # the fractional parts of its multiples fall evenly, in no period
_CALLS = 500
_TRIES = 4  # before the functions are sought that have such a local
_CHANGES = 8  # of the number of references to a function
_NOWHERE = "the program has no variable and no function of this name."

_Seek = Callable[[int, float], None]


def _looks(
    first: int, last: int, of_log: str, looked: dict[int, bool], seek: _Seek
) -> Iterator[set[int]]:
    """Sets of events at which to search the names.

    First events spread over all, then events ever closer to both ends, as most events may be the
    program's start, then MPI calls, of which there are few during loading.  For Python, whose start
    is long, events ever closer to the end come first, then to the end of the program's own code.
    LOOKED: event -> does Python code of the program's own run there?
    """
    if of_log:
        yield _some_of(of_log, first, last)
    if cpython.running() is not None:
        yield {last - (1 << bit) for bit in range((last - first).bit_length())}
        low = _last_run(looked)
        if low is not None:
            high = min((event for event in looked if event > low), default=last + 1)
            while high - low > 1:
                middle = (low + high) // 2
                seek(middle, 0)
                low, high = (middle, high) if pynames.runs() else (low, middle)
            yield {low, *(low - (1 << bit) for bit in range((low - first).bit_length()))}
    yield _spread(first, last)
    near = [1 << bit for bit in range(((last - first) // _LOOKS).bit_length())]
    yield {last - distance for distance in near}
    yield {first + distance for distance in near}
    yield _some_of("mpi", first, last)


def _last_run(looked: dict[int, bool]) -> int | None:
    return max((event for event, ran in looked.items() if ran), default=None)


def _some_of(query: str, first: int, last: int) -> set[int]:
    # Not `all`, which reads the whole log to count the events.
    options = {"query": query, "way": "next", "limit": _CALLS, "first": first, "last": last}
    found = [row["event"] for row in searching.ask("find-event", **options)["rows"]]
    return {found[at] for at in _spread(0, len(found) - 1)} if found else set()


def _spread(first: int, last: int) -> set[int]:
    """Numbers from FIRST to LAST, one in each of equal parts, and not at the same place of each:
    what a program does at every n-th event would lie between numbers at equal distances."""
    part = (last - first) / (_LOOKS - 1)
    return {min(first + int((at + at * _GOLDEN % 1) * part), last) for at in range(_LOOKS)}


class Judge:
    """Binds an expression to the variables that the user means, and evaluates it at any
    position."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.binding: Binding | None = None
        self.bound_at: int | None = None
        """The event at which it was bound; None: not at one that `bind` went to."""
        self._problem = ""
        self._missing: str | None = None
        self._is_text = False  # the missing name is a string in Python
        self._unsuited = self._absent = False  # result of the last search
        self._is_otherwise = False  # it is suited elsewhere
        self._why_unsuited = ""
        self._whys: Counter[str] = Counter()

    def bind(
        self,
        first: int,
        last: int,
        seek: _Seek,
        of_log: str = "",
    ) -> None:
        """Binds the names here, or else at one of a few events between FIRST and LAST, or else in a
        function that the expression names.

        Events of which the query OF_LOG is true come first.  SEEK goes to an event, and gets the
        finished part, 0 to 1.  Raises Undefined.
        """
        if self._bound():
            return
        unknown = unknown_everywhere(self.expression)
        if unknown is not None:
            raise Meaningless(f'No symbol "{unknown}" in current context: {_NOWHERE}')
        looked: dict[int, bool] = {}
        local: str | None = None
        for wanted in _looks(first, last, of_log, looked, seek):
            events = sorted(wanted - looked.keys())
            for number, event in enumerate(events):
                seek(event, number / len(events))
                looked[event] = pynames.runs()
                if number + 1 < len(events):
                    link.ask("ahead", str(events[number + 1]))
                if self._bound():
                    self.bound_at = event
                    return
                if local is None and self._missing and len(looked) > _TRIES:
                    local = self._where_local()
                if self._is_nowhere(events[number + 1 :], seek):
                    raise Meaningless(f"{self._problem}: {_NOWHERE}")
                if self._is_unsuited(events[number + 1 :], seek):
                    raise Undefined(f"{self._problem} (at every position looked at)")
                if self.binding is not None:
                    return
        for event in self._events_of_python(looked, seek):
            seek(event, 1)
            if self._bound():
                self.bound_at = event
                return
        for pc in functions_named(self.expression):
            if self._bound_at(pc, last, seek):
                return
            for other in alive.exits_of_object(gdb.newest_frame()):
                if self._bound_at(other, last, seek):
                    return
        if not self._problem:
            self.binding = Binding(self.expression, gdb.newest_frame())
            return
        local = (local or self._where_local()) if self._missing else ""
        if local:
            raise Undefined(f"{self._problem}: {local}")
        hint = (
            "  Name the variable's function (main::x) or file ('heat.c'::x), or the value's "
            "address (*(double *) 0x...)."
        )
        raise Undefined(
            f"{self._why_unsuited or self._problem}: "
            f"undefined at all {len(looked)} events that were looked at."
            f"{hint if self._missing is not None else ''}"
        )

    def _bound_at(self, pc: int, last: int, seek: _Seek) -> bool:
        """Binds the names at the last arrival at PC, if there is one."""
        seek(last, 1)
        arrival = searching.ask("last-at", addr=pc, sp=None)["position"]
        if arrival is None:
            return False
        place.seek(arrival)
        return self._bound()

    def _where_local(self) -> str:
        """The functions of which the missing name is a local, as text; empty: there is none.

        Raises Undefined if these make no calls: then they run at no event.
        """
        name = str(self._missing)
        found = [] if cpython.running() is not None else homes.homes(name)
        if found and not any(one.calls for one in found):
            raise Undefined(f"{self._problem}: {homes.told(name, found, search=True)}")
        return homes.told(name, found, search=True) if found else ""

    def with_binding(self, binding: Binding) -> Judge:
        """Judges the same expression with another meaning of its names."""
        other = Judge(self.expression)
        other.binding = binding
        return other

    def _events_of_python(self, looked: dict[int, bool], seek: _Seek) -> Iterator[int]:
        """The last events before Python functions that the expression names were called, and before
        they returned.

        A call and a return change the number of references to the function, its first word.
        """
        end = _last_run(looked)
        if end is None:
            return
        for name in names_of_python(self.expression):
            seek(end, 1)
            address = pynames.function(name.rpartition("::")[0])
            if address is None:
                continue
            for _ in range(_CHANGES):
                answer = stores.last_change(address, 8)
                if not answer["found"]:
                    break
                here = link.ask("name")["name"]
                yield answer["event"]
                place.seek(here)

    def _is_nowhere(self, later: list[int], seek: _Seek) -> bool:
        """Does the program have nothing with the missing name?"""
        name = self._missing
        if name is None or self._is_text:
            return False
        of_python = names_of_python(self.expression)
        if not any(one.rpartition("::")[2] == name for one in of_python):
            return lacks(name)
        # What Python has loaded in the middle of these events and near their end.
        for events in (reversed(later), later[len(later) // 2 : len(later) // 2 + 1]):
            for event in events:
                seek(event, 0)
                there = pynames.lacks(name)
                if there is not None:
                    break
            else:
                return False
            if not there:
                self._is_text = True
                return False
        self._problem = f'No variable "{name}" in Python'
        return True

    def _is_unsuited(self, later: list[int], seek: _Seek) -> bool:
        """Can it not be computed with, here and in the middle and at the end of these events, if it
        exists there?"""
        if not self._unsuited or self._is_otherwise:
            return False
        for event in later[-1:] + later[len(later) // 2 : len(later) // 2 + 1]:
            seek(event, 0)
            if self._bound() or not (self._unsuited or self._absent):
                self._is_otherwise = True
                return False
        self._problem = self._why_unsuited
        return True

    def _bound(self) -> bool:
        self._unsuited, self._absent = False, True
        try:
            found = binding.bind(self.expression)
            nowhere = "" if found is None else found.nowhere()
            if nowhere:
                raise Unsuited(nowhere)
            self.binding = found
        except Unbound as unbound:
            self._unsuited = isinstance(unbound, Unsuited)
            self._why_unsuited = str(unbound) if self._unsuited else self._why_unsuited
            self._absent = unbound.name is not None
            if unbound.name is None:  # why it cannot be used tells more than that it is missing
                self._whys[str(unbound)] += 1
                self._problem, self._missing = self._whys.most_common(1)[0][0], None
            elif not self._problem:
                self._problem, self._missing = str(unbound), unbound.name
        return self.binding is not None

    @property
    def exits(self) -> list[int]:
        """Exits: last instructions at which it may have a value (rdb/timeline/alive.py)."""
        try:
            return [] if self.binding is None else self.binding.exits()
        except (Undefined, gdb.error):
            return []  # not known

    @property
    def described(self) -> str:
        return "" if self.binding is None else self.binding.described

    @property
    def bound(self) -> str:
        return "" if self.binding is None else self.binding.bound

    def value(self) -> Any:
        """The value here; None: undefined."""
        try:
            return self._value()
        except Undefined:
            return None

    @property
    def decided(self) -> list[str]:
        """The array elements that decided the last value, as text."""
        return [] if self.binding is None else self.binding.decided()

    def text_of(self, value: Any) -> str:
        """VALUE as the expression's language writes it."""
        with speaking(self.binding.language if self.binding else "auto"):
            return str(value)

    def operands(self) -> list[tuple[int, int]]:
        """(address, length) of the memory that it reads here."""
        try:
            return [] if self.binding is None else self.binding.operands()
        except Undefined:
            return []

    def of_bytes(self) -> Callable[[str], bool] | None:
        """As Binding.of_bytes; None also where it is not known."""
        try:
            return None if self.binding is None else self.binding.of_bytes()
        except (Undefined, gdb.error):
            return None

    def good(self, value: Any) -> bool:
        return binding.truth(value)

    def verdict(self) -> tuple[str, str]:
        """("good", ""), ("bad", "") or ("undefined", reason)."""
        try:
            return ("good" if self.good(self._value()) else "bad"), ""
        except (Undefined, gdb.error) as undefined:  # gdb.error: a reference cannot be read
            return "undefined", str(undefined).rstrip(".")

    def verdicts(self, evaluation: Evaluation, values: list[Values]) -> list[tuple[str, str]]:
        """As `verdict`, if the predicates had each of these values."""
        assert self.binding is not None
        found = []
        for one in self.binding.again(evaluation, values):
            if isinstance(one, Undefined):
                found.append(("undefined", str(one).rstrip(".")))
            else:
                found.append(("good" if self.good(one) else "bad", ""))
        return found

    def _value(self) -> Any:
        assert self.binding is not None  # set by `bind`
        return self.binding.value()
