"""Expressions over scalars of a Python program: `energy < 1e9 and not self.done`.

If a name in an expression is Python's, the whole expression is computed by Python's rules, with
integers of any length.  `&&`, `||` and `!` are allowed, too.  Predicates over arrays, convenience
variables and variables of C are numbers.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import gdb

from . import cpython, ndarrays, pynames, symbols
from .cpython import Interpreter, Unreadable, Unsuited
from .lookups import Unbound, value_key
from .pyobjects import Object

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.USub: operator.neg,
    ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "float": float, "int": int,
    "isfinite": math.isfinite, "isinf": math.isinf, "isnan": math.isnan,
}  # fmt: skip
_NODES = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple),
    *(ast.BoolOp, ast.And, ast.Or, ast.Compare, ast.Is, ast.IsNot, ast.BinOp, ast.UnaryOp),
    *(ast.Not, ast.Call, ast.Load, *_OPERATORS),
)
_TOKEN = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
    r"|(?P<and>&&)|(?P<or>\|\|)|(?P<not>!(?!=))|(?P<gdb>\$\w+(?:\(\d+\))?)"
    r"|(?P<qualified>(?:<\w+>|[A-Za-z_]\w*)(?:\.(?:<\w+>|\w+))*::[A-Za-z_]\w*)",
    re.DOTALL,
)
_MOST_BITS = 1 << 20


class Expression:
    """An expression of Python; WRITTEN: placeholder in TREE -> what the user wrote."""

    def __init__(self, tree: ast.Expression, written: Mapping[str, str], nots: set[int]) -> None:
        self._tree = tree
        self._written = written
        self._nots = nots  # offsets at which ~ stands for C's !
        self.read: list[tuple[int, int]] = []
        """(address, length) of the references to objects that its last value was computed from."""

    def value(self) -> Any:
        """The value as a gdb.Value.  Raises Unreadable, Unsuited, NotRunning."""
        found = cpython.running()
        if found is None:
            raise cpython.NotRunning("Python does not run here")
        interpreter = Interpreter(*found)
        computed = _Computation(interpreter, self._written, self._nots)
        try:
            value = computed.of(self._tree.body)
        finally:
            slots = ((slot, 8) for slot in interpreter.slots)
            self.read = list(dict.fromkeys([*slots, *computed.elements]))
        text = computed.reader.text(self._tree.body)
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            shown = hex(value) if value.bit_length() < 512 else f"of {value.bit_length()} bits"
            raise Unreadable(f"{text} is {shown}, too large for GDB: compare it, as in {text} > 0")
        if isinstance(value, (bool, int, float, str)):
            return gdb.Value(value)
        raise _unsuited(value, text)


def expression(text: str) -> Expression | None:
    """The expression, if it is Python's; None: GDB evaluates it."""
    if cpython.running() is None:
        return None
    parsed = _parsed(text)
    return parsed[0] if parsed and any(map(_is_pythons, parsed[1])) else None


def names(text: str) -> list[str]:
    """The Python names in an expression of Python, as written."""
    parsed = _parsed(text)
    if parsed is None or expression(text) is None:
        return []
    return [name for name in parsed[1] if not pynames.is_of_c(name)]


def is_written_so(text: str) -> bool:
    """Can Python parse it, and does it have a name?"""
    parsed = _parsed(text)
    return parsed is not None and bool(parsed[1])


def _parsed(text: str) -> tuple[Expression, list[str]] | None:
    """The expression and the names of its variables; None: Python cannot parse it."""
    written: dict[str, str] = {}
    nots: set[int] = set()
    source, end = "", 0
    text = text.strip()
    for found in _TOKEN.finditer(text):
        source += text[end : found.start()]
        end = found.end()
        if found.lastgroup in ("gdb", "qualified"):
            name = f"_rdb_{len(written)}_"
            written[name] = found[0]
            source += name
        elif found.lastgroup == "not":
            nots.add(len(source.encode()))
            source += "~"
        else:
            source += f" {found.lastgroup} " if found.lastgroup else found[0]
    try:
        tree = ast.parse(source + text[end:], mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes = list(ast.walk(tree))
    if not all(isinstance(node, _NODES) for node in nodes):
        return None
    called = {id(root) for node in nodes if isinstance(node, ast.Call) for root in _function(node)}
    plain = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    own = [written.get(name, name) for name in dict.fromkeys(plain)]
    return Expression(tree, written, nots), [name for name in own if name[0] != "$"]


def _function(call: ast.Call) -> list[ast.Name]:
    """The name in a call that is no variable: `math` in math.isnan(x)."""
    of = call.func
    if isinstance(of, ast.Name) and (of.id in (*_FUNCTIONS, "len", "bool") or _known_to_gdb(of.id)):
        return [of]
    if isinstance(of, ast.Attribute) and of.attr in _FUNCTIONS and isinstance(of.value, ast.Name):
        return [of.value]
    return []


def _is_pythons(name: str) -> bool:
    if pynames.is_bound(name):
        return True
    if pynames.is_of_c(name):
        return False
    try:
        return pynames.meaning(name) is not None
    except gdb.error:
        return not _known_to_gdb(name)


def _known_to_gdb(name: str) -> bool:
    """Does GDB know the name, also as one of a library or a type?"""
    try:
        value_key(name)
    except Unbound:
        return False
    return True


class _Computation:
    def __init__(
        self, interpreter: Interpreter, written: Mapping[str, str], nots: set[int]
    ) -> None:
        self._written = written
        self._nots = nots
        self.reader = pynames.Reader(interpreter, written=written, compute=self.of)
        self.elements: list[tuple[int, int]] = []

    def of(self, tree: ast.expr) -> Any:
        """The value of a part: a number, a str, None, an Object or a View."""
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.BoolOp):
            return self._all_or_one(tree)
        if isinstance(tree, ast.Compare):
            return self._compared(tree)
        if isinstance(tree, ast.BinOp):
            return self._applied(tree, tree.op, tree.left, tree.right)
        if isinstance(tree, ast.UnaryOp):
            negated = isinstance(tree.op, ast.Not) or tree.col_offset in self._nots
            if negated:
                return not self._truth(tree.operand)
            return self._applied(tree, tree.op, tree.operand)
        if isinstance(tree, ast.Call):
            return self._called(tree)
        if isinstance(tree, ast.Name) and (of_gdb := self._of_gdb(tree.id)) is not None:
            return of_gdb
        return self._plain(self.reader.value(tree), tree)

    def _of_gdb(self, name: str) -> Any:
        written = self._written.get(name, name)
        if written[0] != "$" and (pynames.is_bound(written) or not pynames.is_of_c(written)):
            return None
        value = symbols.evaluated(written)
        kind = value.type.strip_typedefs().code
        if kind == gdb.TYPE_CODE_FLT:
            return float(value)
        return bool(value) if kind == gdb.TYPE_CODE_BOOL else int(value)

    def _plain(self, found: Any, tree: ast.expr) -> Any:
        if isinstance(found, ndarrays.View):
            if found.axes:
                return found
            self.elements.append(found.span)
            return found.array()
        if not isinstance(found, Object):
            return found
        number = found.number()
        if number is not None:
            return bool(number) if found.type_name == "bool" else number
        if found.type_name == "NoneType":
            return None
        text = found.text()
        return found if text is None else text

    def _all_or_one(self, tree: ast.BoolOp) -> Any:
        """The value of the deciding operand of `and` or `or`, as in Python."""
        for one in tree.values[:-1]:
            if self._truth(one) == isinstance(tree.op, ast.Or):
                return self.of(one)
        return self.of(tree.values[-1])

    def _truth(self, tree: ast.expr) -> bool:
        value = self.of(tree)
        if isinstance(value, Object):
            length = value.length()
            if length is None:
                raise _unsuited(value, self.reader.text(tree))
            return length > 0
        if isinstance(value, ndarrays.View):
            raise _unsuited(value, self.reader.text(tree))
        return bool(value)

    def _compared(self, tree: ast.Compare) -> bool:
        left = tree.left
        for sign, right in zip(tree.ops, tree.comparators):
            if not self._compares(tree, sign, left, right):
                return False
            left = right
        return True

    def _compares(self, tree: ast.expr, sign: ast.cmpop, one: ast.expr, other: ast.expr) -> bool:
        left, right = self.of(one), self.of(other)
        equal = isinstance(sign, (ast.Is, ast.Eq))
        if equal or isinstance(sign, (ast.IsNot, ast.NotEq)):
            if None in (left, right):
                return (left is right) == equal
            if isinstance(left, Object) and isinstance(right, Object):
                same = left.address == right.address
                identical = isinstance(sign, (ast.Is, ast.IsNot))
                if same or identical or (left.equals_itself_alone and right.equals_itself_alone):
                    return same == equal
            if isinstance(sign, (ast.Is, ast.IsNot)):
                sign = ast.Eq() if equal else ast.NotEq()  # rdb compares values, not objects
        return bool(self._applied(tree, sign, one, other))

    def _applied(self, tree: ast.expr, sign: ast.AST, *of: ast.expr) -> Any:
        values = [self.of(one) for one in of]
        for value, one in zip(values, of):
            if value is None or isinstance(value, (Object, ndarrays.View)):
                raise _unsuited(value, self.reader.text(one))
        whole = [value for value in values if isinstance(value, int)]
        if len(whole) == 2 and isinstance(sign, (ast.Pow, ast.LShift)):
            grown = whole[0].bit_length() * whole[1] if isinstance(sign, ast.Pow) else whole[1]
            if grown > _MOST_BITS:
                raise Unreadable(f"{self.reader.text(tree)} is too large")
        return self._tried(tree, _OPERATORS[type(sign)], *values)

    def _called(self, tree: ast.Call) -> Any:
        name = tree.func.attr if isinstance(tree.func, ast.Attribute) else ast.unparse(tree.func)
        known = _function(tree) and len(tree.args) == 1 and not tree.keywords
        if not known or name not in (*_FUNCTIONS, "len", "bool"):
            raise Unsuited(
                f"{self.reader.text(tree)} cannot be read: the program's own code computes it"
            )
        (argument,) = tree.args
        if name == "bool":
            return self._truth(argument)
        value = self.of(argument)
        if name != "len":
            if value is None or isinstance(value, (Object, ndarrays.View)):
                raise _unsuited(value, self.reader.text(argument))
            return self._tried(tree, _FUNCTIONS[name], value)
        if isinstance(value, ndarrays.View):
            return value.axes[0][1]
        length = value.length() if isinstance(value, Object) else None
        if length is None and not isinstance(value, str):
            raise Unreadable(f"{self.reader.text(tree)} cannot be read from memory")
        return len(value) if isinstance(value, str) else length

    def _tried(self, tree: ast.expr, function: Callable[..., Any], *values: Any) -> Any:
        try:
            return function(*values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise Unreadable(f"{self.reader.text(tree)}: {error}") from None


def _unsuited(value: Any, text: str) -> gdb.error:
    if value is None:
        return Unreadable(f"{text} is None")
    if isinstance(value, complex):
        return Unreadable(f"{text} is complex: write abs({text}), {text}.real or {text}.imag")
    if isinstance(value, ndarrays.View):
        return Unsuited(f"{text} is a numpy array: write max({text}), all({text} > 0), {text}[0]")
    if isinstance(value, Object):
        return Unsuited(f"{text} is {value.described(text)}")
    return Unreadable(f"{text} is a string: compare it, as in {text} == 'a'")
