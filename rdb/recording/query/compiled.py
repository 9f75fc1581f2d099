"""A query as Python source: an expression over the fields of one event, or of a row of columns.

The comparisons of a field that an event does not have are false.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from rdb.recording.query.texts import TEXTS

_SYMBOLS: dict[type[ast.AST], str] = {
    **{ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="},
    **{ast.In: "in", ast.NotIn: "not in"},
}
_ARITHMETIC: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
}


def compares(op: ast.cmpop) -> bool:
    return type(op) in _SYMBOLS


def calculates(op: ast.operator) -> bool:
    return type(op) in _ARITHMETIC


class Value(NamedTuple):
    """The source of a value."""

    source: str
    may_be_none: bool = False
    is_text: bool = False


NONE = Value("None", True)


class Names(Protocol):
    """What the names of a query are here."""

    def field(self, name: str) -> Value: ...

    def is_a(self, word: str) -> bool | str:
        """The answer, or the source that gives it."""
        ...


class Field(NamedTuple):
    """A node of a query's tree: a field of the event."""

    name: str


class Word(NamedTuple):
    """A node: the event's name, kind or call."""

    name: str


class Constant(NamedTuple):
    value: Any


class Many(NamedTuple):
    """Values that another one is looked for in."""

    parts: tuple[Node, ...]


class Junction(NamedTuple):
    """`and`, `or`, `not`, by their spelling."""

    word: str
    parts: tuple[Node, ...]


class Comparison(NamedTuple):
    parts: tuple[Node, ...]
    ops: tuple[type[ast.cmpop], ...]


class Calculation(NamedTuple):
    left: Node
    op: type[ast.operator]
    right: Node


class Negative(NamedTuple):
    inner: Node


Node = Field | Word | Constant | Many | Junction | Comparison | Calculation | Negative


class Source:
    """The source of a tree, and in `known` what it uses."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.known: dict[str, Any] = {"calculate": _calculate, "negative": _negative}
        self._numbers = itertools.count()

    def test(self, node: Node) -> str | bool:
        """Its truth, if that is the same for all."""
        match node:
            case Word(name):
                return self._names.is_a(name)
            case Junction("not", (part,)):
                inner = self.test(part)
                return not inner if isinstance(inner, bool) else f"(not {inner})"
            case Junction(word, parts):
                return self._junction(word, parts)
            case Comparison():
                return self._compare(node)
        value = self._value(node)
        return False if value is NONE else value.source

    def _junction(self, word: str, parts: Sequence[Node]) -> str | bool:
        ends = word == "or"
        left: list[str] = []
        for part in parts:
            one = self.test(part)
            if one is ends and not left:
                return ends
            if not isinstance(one, bool) or one is ends:
                left.append(str(one))
        return f"({f' {word} '.join(left)})" if left else not ends

    def _compare(self, node: Comparison) -> str | bool:
        values = [self._value(part) for part in node.parts]
        simple = [isinstance(part, (Field, Constant)) for part in node.parts]
        if NONE in values and all(simple):
            return False
        names, steps = [], []
        for value, plain in zip(values, simple, strict=True):
            if plain and value.source.isidentifier() and not value.may_be_none:
                names.append(value.source)
                continue
            name = f"v{next(self._numbers)}"
            names.append(name)
            steps.append((name, value))
        checks = [f"({name} := {value.source}) is not None" for name, value in steps]
        if not all(simple):  # all are calculated: one of them may have no value, which is an error
            every = ", ".join(f"{name} := {value.source}" for name, value in steps)
            checks = [f"[{every}]", *(f"{name} is not None" for name, _ in steps)]
        checks += [
            f"{left} {_SYMBOLS[op]} {right}"
            for (left, right), op in zip(itertools.pairwise(names), node.ops, strict=True)
        ]
        return f"({' and '.join(checks)})"

    def _value(self, node: Node) -> Value:
        match node:
            case Field(name):
                return self._names.field(name)
            case Constant(value):
                name = f"k{next(self._numbers)}"
                self.known[name] = value
                return Value(name, is_text=isinstance(value, str))
            case Many(parts):
                return Value(f"({''.join(f'{self._value(part).source}, ' for part in parts)})")
            case Negative(inner):
                value = self._value(inner)
                return Value(f"negative({value.source})", value.may_be_none)
            case Calculation(left, op, right):
                return self._calculation(self._value(left), op, self._value(right))
        raise AssertionError(node)

    def _calculation(self, left: Value, op: type[ast.operator], right: Value) -> Value:
        symbol, function = _ARITHMETIC[op]
        none = left.may_be_none or right.may_be_none
        if none or left.is_text or right.is_text:
            name = f"k{next(self._numbers)}"
            self.known[name] = function
            return Value(f"calculate({name}, {left.source}, {right.source})", none)
        return Value(f"({left.source} {symbol} {right.source})")


def _calculate(function: Callable[[Any, Any], Any], *values: Any) -> Any:
    if None in values:
        return None
    if not all(isinstance(value, (int, float)) for value in values):
        raise TypeError("numbers are needed to calculate")
    return function(*values)


def _negative(value: Any) -> Any:
    return None if value is None else -value


class _OfEvent:
    """The names, of one Event in a variable `event`."""

    def field(self, name: str) -> Value:
        return Value(f"event.get({name!r})", True, name in TEXTS)

    def is_a(self, word: str) -> str:
        return f"event.is_a({word!r})"


def of_event(node: Node) -> Callable[[Any], Any]:
    """The query as a function of one Event (rdb/recording/query/fields.py)."""
    source = Source(_OfEvent())
    test = source.test(node)
    return eval(f"lambda event: {test}", source.known)  # type: ignore[no-any-return]
