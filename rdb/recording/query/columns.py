"""A query as a loop over columns of the log, one for each kind of call.

What is the same for all records of a call (its name, which fields it has) is part of the loop's
source, so only the columns that are compared are read.
"""

from __future__ import annotations

import errno
import itertools
from array import array
from collections.abc import Callable, Iterable
from typing import Any

from rdb.recording.log.describe import mpi_arguments, mpi_results
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind, Note, signal_name
from rdb.recording.log.rows import Column
from rdb.recording.log.verbs_calls import call_parameters, verbs_call
from rdb.recording.query.compiled import NONE, Node, Source, Value
from rdb.recording.query.fields import BYTES_RESULT, FD_FIRST, FD_RESULT, KINDS, name_of

_SIGNED32 = "(({0} & 0xFFFFFFFF) - (({0} & 0x80000000) << 1))"
Call = tuple[Kind, int]
Loop = Callable[[Iterable[Any], Callable[[int], None]], None]


class Columns:
    """The names of a query, of the records of one call; notes the columns that they need."""

    def __init__(self, call: Call, arguments: int, rank: int, start_ns: int) -> None:
        """ARGUMENTS: how many the call has."""
        self._kind, self._nr = call
        self._arguments, self._rank, self._start_ns = arguments, rank, start_ns
        self.name = name_of(*call)
        self._answered = self._kind is Kind.SYSCALL or self.name.startswith("verbs.")
        self.used: dict[str, tuple[int, str]] = {}
        """Variable -> column, and whether it has a sign."""
        self.message: Note | None = None
        """What a row is of: a message that was received or sent, or the event."""

    def _column(self, variable: str, column: int, code: str = "q") -> Value:
        self.used[variable] = (column, code)
        return Value(variable)

    def _argument(self, place: int, signed: bool) -> Value:
        if place >= self._arguments:
            return NONE
        return self._column(f"{'s' if signed else 'u'}{place}", place, "q" if signed else "Q")

    def is_a(self, word: str) -> bool:
        if word in ("receive", "send"):
            return self.message is (Note.RECV if word == "receive" else Note.SEND)
        if word in ("mpi", "verbs"):
            return self.name.startswith(f"{word}.")
        return word in (self.name, KINDS[self._kind])

    def field(self, name: str) -> Value:
        match name:
            case "kind":
                library = self.name.partition(".")[0]
                return _text(library if library in ("mpi", "verbs") else KINDS[self._kind])
            case "name":
                return _text(self.name)
            case "rank":
                return Value(str(self._rank))
            case "event" | "thread" | "repeat" | "result":
                code = "q" if name == "result" else "Q"
                return self._column(name, Column[name.upper()], code)
            case "errno":
                if not self._answered:
                    return NONE
                self._column("result", Column.RESULT)
                return Value("errors.get(-result)", True, True)
            case "time":
                self._column("at_ns", Column.AT_NS, "Q")
                return Value(f"((at_ns - {self._start_ns}) / 1e9)")
            case "signal":
                return _text(signal_name(self._nr)) if self._kind is Kind.SIGNAL else NONE
            case "fd":
                return self._descriptor() if self._kind is Kind.SYSCALL else NONE
            case "path":
                return NONE
        return self._other(name)

    def _descriptor(self) -> Value:
        if self.name in FD_RESULT:
            return self._column("result", Column.RESULT)
        place = 0 if self.name in FD_FIRST else 4 if self.name == "mmap" else None
        if place is None:
            return NONE
        return Value(_SIGNED32.format(self._argument(place, False).source))

    def _other(self, name: str) -> Value:
        if self.message is not None and name in ("source", "dest", "tag", "bytes"):
            of = {"source": Note.RECV, "dest": Note.SEND}.get(name, self.message)
            if of is self.message:
                column = {"tag": Column.TAG, "bytes": Column.BYTES}.get(name, Column.PEER)
                return self._column(column.name.lower(), column, "q")
        if name == "bytes":
            if self.name not in BYTES_RESULT:
                return NONE
            self._column("result", Column.RESULT)
            return Value("(None if -4096 < result < 0 else result)", True)
        if name.startswith("arg") and name[3:].isdigit():
            return self._argument(int(name[3:]), False)
        if self._kind is not Kind.HYPERCALL:
            return NONE
        places = range(self._arguments)
        verbs = verbs_call(self._nr)
        named = mpi_arguments(self._nr, places)
        named |= dict(zip(call_parameters(verbs), places, strict=False)) if verbs else {}
        if name in mpi_results(self._nr):
            raise NotInColumns
        return self._argument(named[name], True) if name in named else NONE


class NotInColumns(Exception):
    """The field's value is in the records alone: a number that the call has stored."""


def _text(text: str) -> Value:
    return Value(repr(text), is_text=True)


class Compiled:
    """A query for the records of one call."""

    def __init__(self, tree: Node, names: Columns, of_messages: bool) -> None:
        self._names = names
        source = Source(names)
        if of_messages:
            names.used["note"] = (Column.NOTE, "Q")
            tests = []
            for note in (None, Note.RECV, Note.SEND):
                names.message = note
                test = source.test(tree)
                if test is not False:
                    tests.append(f"note == {int(note or 0)} and {test}")
            self.always: bool | None = None if tests else False
            test = " or ".join(tests)
        else:
            test = source.test(tree)
            self.always = test if isinstance(test, bool) else None
        if self.always is not None:
            return
        variables = "".join(f"{variable}, " for variable in names.used)
        text = (
            "def loop(rows, add):\n"
            f" for number, {variables}in rows:\n"
            f"  if {test}:\n"
            "   add(number)\n"
        )
        space = {**source.known, "errors": errno.errorcode}
        exec(text, space)
        self._loop: Loop = space["loop"]

    def of(self, index: LogIndex, numbers: array[int]) -> list[int] | None:
        """Those of the entries of which the query is true, ascending; None: this cannot tell."""
        if self.always is not None:
            return list(numbers) if self.always else []
        columns = [(int(Column.NUMBER), "Q"), *self._names.used.values()]
        found: list[int] = []
        batches = index.rows(numbers, columns)
        if batches is None:
            return None
        try:
            self._loop(
                itertools.chain.from_iterable(zip(*batch, strict=True) for batch in batches),
                found.append,
            )
        except (TypeError, ArithmeticError):  # it has no value at one of them, which is to be named
            return None
        return list(dict.fromkeys(found))


def compiled(
    tree: Node, call: Call, arguments: int, rank: int, start_ns: int, of_messages: bool
) -> Compiled | None:
    """None: such records are looked at one after the other."""
    names = Columns(call, arguments, rank, start_ns)
    if of_messages and names.name.startswith("verbs."):
        return None
    try:
        return Compiled(tree, names, of_messages and call[0] is Kind.HYPERCALL)
    except NotInColumns:
        return None
