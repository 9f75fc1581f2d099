"""Queries over events: `mpi.recv source==3`, `read fd==3 and result<0`, `'tmp' in path`.

A bare word (a call, `mpi.recv`, `signal`, `receive`) is true of events of that name; a condition
may follow it without `and`.  The rest is a subset of Python's expressions, without calls and
without names other than the event's fields; C's `&&`, `||`, `!` are understood, too.  A comparison
with a field that the event does not have is false; with a value that the field never has it is an
error.

A record may stand for many events that differ only in their numbers.  So a query is evaluated once
for each part of a record's events in which no comparison of `event` with a number changes.
"""

from __future__ import annotations

import ast
import errno
import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from rdb.errors import Usage
from rdb.recording.log.describe import mpi_constants
from rdb.recording.log.record import Kind, Record
from rdb.recording.query.compiled import (
    Calculation,
    Comparison,
    Constant,
    Field,
    Junction,
    Many,
    Negative,
    Node,
    Word,
    calculates,
    compares,
    of_event,
)
from rdb.recording.query.fields import (
    OF_MESSAGES,
    Event,
    Paths,
    calls_named,
    dotted,
    event_names,
    field_names,
)
from rdb.recording.query.texts import TEXTS, part

_LONG = 4096
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE},
    ast.Eq: ast.Eq,
}
# Texts, and operators of C with their spelling here.
_SPELLED = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|&&|\|\||!(?!=)""")
_SPELLING = {"&&": " and ", "||": " or ", "!": " not "}
_ERRNOS = {name: number for number, name in errno.errorcode.items()}
_HINTS = {
    "name": "as in name == read, name == mpi.recv, name == sigusr1",
    "kind": "it is mpi, verbs, syscall, signal, call, upcall, tsc, start, resume or preempt",
    "errno": "as in errno == ENOENT; errno alone is true of a call that failed",
    "signal": "as in signal == SIGUSR1",
    "operation": "as in operation == RDMA_WRITE",
    "status": "as in status == WR_FLUSH_ERR",
}
# A leading word that is followed by a condition without `and`.
_LEADING = re.compile(
    r"^(not\s+)?(?!not\b)([A-Za-z_][\w.]*)\s+(?=[\w('\"-])(?!(?:and|or|in|is|if|not\s+in)\b)"
)


class NotOfEvents(Usage):
    """A name is neither an event nor a field, or the text is no query.  It may be an expression of
    the program."""


def of_events(text: str) -> tuple[bool, str]:
    """(True, "") if a text is a query of events, even a wrong one; else False and a hint."""
    try:
        Query(text)
    except NotOfEvents as other:
        return False, other.hint or ""
    except Usage:
        pass
    return True, ""


class Query:
    """A checked query.  Raises Usage, or NotOfEvents for a text that is no query of events."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        if not self.text:
            raise Usage("a query is needed", "for example: mpi.recv source==3")
        if len(self.text) > _LONG:
            raise Usage(f"a query has at most {_LONG} characters")
        self.uses_paths = False
        self._uses_time = False
        self.of_messages = False
        """Evaluated for each message or verbs request of an event."""
        self._each = False  # it uses `event` in a way that must be evaluated for each event
        self._edges: set[int] = set()  # event numbers at which a comparison may change
        self._fields: dict[str, None] = {}
        self._named = False  # it names an event
        self.first, self.last = 0, sys.maxsize
        """The query is true of no event outside of these bounds."""
        tree = self._parsed(self.text)
        self.tree = self._term(tree)
        try:
            self._test = of_event(self.tree)
        except (SyntaxError, RecursionError, MemoryError):
            raise Usage("the query is nested too deep") from None
        self.calls = _calls(tree)
        self._bound(tree)

    def _parsed(self, text: str) -> ast.expr:
        """The syntax tree; of a text in quotes that of the text within."""
        spelled = _SPELLED.sub(lambda m: m[1] or _SPELLING[m[0]], text).strip()
        source = _LEADING.sub(lambda m: f"{m[1] or ''}{m[2]} and ", spelled, count=1)
        try:
            node = ast.parse(source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NotOfEvents(
                f"{self.text!r} is not a query", "for example: read fd==3 and result<0"
            ) from None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._parsed(node.value)
        return node

    @property
    def fields_alone(self) -> list[str]:
        """The fields in a query that names no event: it could be meant for the program's
        variables."""
        return [] if self._named else list(self._fields)

    def matches(
        self,
        record: Record,
        rank: int,
        start_ns: int = 0,
        paths: Paths | None = None,
        number: int | None = None,
    ) -> bool:
        """Is the query true of the event, for at least one of its messages?

        NUMBER: the event, if it is not the first one of its record.  Raises Usage if it has no
        value.
        """
        event = Event(record, rank, start_ns, paths, number)
        try:
            each = event.each() if self.of_messages else (event,)
            return any(bool(self._test(one)) for one in each)
        except (TypeError, ArithmeticError) as error:
            at = record.event if number is None else number
            raise Usage(f"{self.text!r} has no value at event {at}: {error}") from None

    @property
    def of_the_event(self) -> bool:
        """May it have different values for events that differ only in number?"""
        return self._each or bool(self._edges)

    @property
    def of_the_call(self) -> bool:
        """Has it the same value for events that differ only in number and time?"""
        return not (self._uses_time or self.of_the_event)

    def pieces(self, events: range, backwards: bool = False) -> Iterator[range]:
        """Splits events of one record into ranges on each of which the query has one value."""
        way = -1 if backwards else 1
        if self._each:
            yield from (range(one, one + 1) for one in events[::way])
            return
        inside = [one for one in self._edges if events.start < one < events.stop]
        cuts = [events.start, *sorted(inside), events.stop]
        yield from [range(*pair) for pair in itertools.pairwise(cuts)][::way]

    def _bound(self, node: ast.expr) -> None:
        """Narrows `first` and `last` by comparisons of `event` with a number."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                for one in values:
                    self._bound(one)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                nodes = [left, *comparators]
                for op, (one, other) in zip(ops, itertools.pairwise(nodes), strict=True):
                    if _is_event(one) and (number := _number(other)) is not None:
                        self._bound_by(type(op), number)
                    elif _is_event(other) and (number := _number(one)) is not None:
                        self._bound_by(_MIRRORED.get(type(op)), number)

    def _bound_by(self, op: type[ast.cmpop] | None, number: float) -> None:
        if op in (ast.Gt, ast.GtE, ast.Eq):
            self.first = max(self.first, math.ceil(number) + (op is ast.Gt and number % 1 == 0))
        if op in (ast.Lt, ast.LtE, ast.Eq):
            self.last = min(self.last, math.floor(number) - (op is ast.Lt and number % 1 == 0))

    def _term(self, node: ast.expr) -> Node:
        if not any(isinstance(one, ast.Name) for one in ast.walk(node)):
            raise Usage(
                f"{ast.unparse(node)} is a constant, true or false of every event",
                "a condition names a field, as in source==3; a text is compared: 'tmp' in path",
            )
        match node:
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return Junction(word, tuple(self._term(one) for one in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Junction("not", (self._term(operand),))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare([left, *comparators], ops)
            case ast.Tuple() | ast.List() | ast.Set():
                raise Usage(
                    f"{ast.unparse(node)} is a list, true of every event",
                    "a list is compared: name in (read, write)",
                )
            case ast.Name() if _field(node) in ("name", "kind"):
                raise Usage(
                    f"every event has a {_field(node)}", f"compare it: {_field(node)} == signal"
                )
            case ast.Name() | ast.Attribute():
                word = _word(node)
                if word.lower() not in field_names() or word.lower() in event_names():
                    name = self._event_name(word)
                    self._named = True
                    self.of_messages |= name in OF_MESSAGES
                    return Word(name)
        return self._operand(node)

    def _compare(self, nodes: list[ast.expr], ops: list[ast.cmpop]) -> Node:
        each = self._each
        nodes = self._meant(nodes, ops)
        parts = tuple(self._operand(node) for node in nodes)
        numbers = _numbers(node for node in nodes if not _is_event(node))
        if numbers is not None:  # `event` is compared with constants only
            self._each = each
            for one in numbers:
                self._edges |= {math.ceil(one), math.floor(one) + 1}
        if not all(map(compares, ops)):
            raise Usage(f"{self.text!r}: no such comparison", "== != < <= > >= in, not in")
        return Comparison(parts, tuple(type(op) for op in ops))

    def _meant(self, nodes: Sequence[ast.expr], ops: Sequence[ast.cmpop]) -> list[ast.expr]:
        """The operands, with the texts that fields are compared with as the fields have them."""
        meant = list(nodes)
        for op, (left, right) in zip(ops, itertools.pairwise(range(len(meant))), strict=True):
            within = isinstance(op, (ast.In, ast.NotIn))
            for one, other in ((left, right), (right, left)):
                field = _field(meant[one])
                if field not in field_names():
                    continue
                if field not in TEXTS:
                    self._need_number(field, meant[other])
                    continue
                if not within and not isinstance(op, (ast.Eq, ast.NotEq)):
                    raise Usage(
                        f"{self.text!r}: {field} is a text, without an order", "compare it by =="
                    )
                if within and one == right:
                    meant[other] = _part(field, meant[other])
                else:
                    meant[other] = self._value(field, meant[other])
                break
        return meant

    def _need_number(self, field: str, node: ast.expr) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                raise Usage(
                    f"{field} is a number, and {one.value!r} is a text", f"write it so: {field}==3"
                )

    def _value(self, field: str, node: ast.expr) -> ast.expr:
        """The value that a text field is compared with, or the list of them."""
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return ast.Tuple([self._value(field, one) for one in parts], ast.Load())
            case ast.Constant(value=int() | str() as value):
                text = str(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                text = str(-value)
            case ast.Name() | ast.Attribute():
                text = _word(node)
            case _:
                return node
        known = TEXTS[field](text)
        if known is not None:
            return ast.Constant(known)
        if isinstance(node, ast.Name) and _field(node) in field_names():
            return node
        raise Usage(f"{field} is never {text!r}", _HINTS[field])

    def _operand(self, node: ast.expr) -> Node:
        match node:
            case ast.Constant(value=value) if isinstance(value, (int, float, str)):
                return Constant(value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return Many(tuple(self._operand(part) for part in parts))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Negative(self._operand(operand))
            case ast.BinOp(left=left, op=op, right=right) if calculates(op):
                return Calculation(self._operand(left), type(op), self._operand(right))
            case ast.Name() | ast.Attribute():
                return self._field(_word(node))
        raise NotOfEvents(
            f"{ast.unparse(node)!r} is not part of a query",
            "fields, numbers, 'texts', comparisons, and, or, not, + - * // % & | ^",
        )

    def _field(self, word: str) -> Node:
        name = word.lower()
        if name in field_names():
            self._fields[word] = None
            self.uses_paths |= name == "path"
            self._uses_time |= name == "time"
            self._each |= name == "event"
            self.of_messages |= name in OF_MESSAGES
            return Field(name)
        number = _constant(word)
        if number is None:
            self._event_name(word)  # raises what is wrong
            raise Usage(f"{word!r} is an event, and not a value", f"write: name == {word}")
        return Constant(number)

    def _event_name(self, word: str) -> str:
        name = dotted(word)
        if name in event_names():
            return name
        if name.startswith("sig"):
            return name
        import difflib  # imported late: rarely needed

        known = sorted(event_names() | field_names())
        longer = [one for one in known if one.startswith(f"{name}_")]
        near = longer or difflib.get_close_matches(name, known, 1)
        meant = ", ".join(near[:4])
        hint = f"did you mean {meant}?" if near else "a call (read, mpi.recv) or a field (fd)"
        kind = Usage if near and word == self.text else NotOfEvents
        raise kind(f"{word!r} is neither an event nor a field of one", hint)


def _calls(node: ast.expr) -> frozenset[tuple[Kind, int]] | None:
    """Kinds and numbers of the calls of which alone NODE may be true; None: of others, too."""
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            named = [one for one in map(_calls, values) if one is not None]
            return frozenset.intersection(*named) if named else None
        case ast.Name() | ast.Attribute():
            return calls_named(dotted(_word(node))) or None
    return None


def _constant(word: str) -> int | None:
    """The value of `ENOENT`, `MPI_SUM`, or `SUM` as descriptions of events show it."""
    known = mpi_constants()
    return _ERRNOS.get(word, known.get(word, known.get(f"MPI_{word}")))


def _field(node: ast.expr) -> str:
    return node.id.lower() if isinstance(node, ast.Name) else ""


def _part(field: str, node: ast.expr) -> ast.expr:
    match node:
        case ast.Constant(value=str() as text):
            return ast.Constant(part(field, text))
    return node


def _is_event(node: ast.expr) -> bool:
    return _field(node) == "event"


def _number(node: ast.expr) -> float | None:
    """The value of a numeric literal; None: it is none."""
    match node:
        case ast.Constant(value=int() | float() as value) if math.isfinite(value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand)
            return None if number is None else -number
    return None


def _numbers(nodes: Iterable[ast.expr]) -> list[float] | None:
    """All numbers; None if one of the nodes is not a number."""
    found: list[float] = []
    for node in nodes:
        one = _number(node)
        inside = None if one is None else [one]
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            inside = _numbers(node.elts)
        if inside is None:
            return None
        found += inside
    return found


def _word(node: ast.expr) -> str:
    """The text `a.b` of a name."""
    return ast.unparse(node)
