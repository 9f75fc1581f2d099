"""Expressions over arrays, element by element: parsed here, computed by the agent.

`abs(u) < 1e6 && u != v` becomes steps in postfix order; GDB evaluates the operands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import gdb

from .. import link
from . import cpython, elements, pynames, subscripts, symbols, wrapped
from .arrays import Array, NoArray, located, referred
from .bits import folded

# interposer/interface/agent.h: enum agent_array_fold, agent_array_op
_SUM, _CHECKSUM = 4, 8
_DEPTH = 6  # interposer/seek/arrays.c
_LOAD, _NUMBER, _ABS, _NEGATE, _NOT, _FINITE, _NAN, _INFINITE, _ROOT = range(1, 10)
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = range(10, 14)
_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL, _EQUAL, _NOT_EQUAL, _AND, _OR = range(14, 22)
_POWER, _QUOTIENT, _REMAINDER, _BITS_AND, _BITS_OR, _BITS_XOR, _MASKED = range(22, 29)
_SAME_TRUTH, _OTHER_TRUTH = -_EQUAL, -_NOT_EQUAL  # that of the truths of both
# Operators of one precedence, from the one that is applied last on.
_EQUIVALENT = {".eqv.": _SAME_TRUTH, ".neqv.": _OTHER_TRUTH}
_EITHER, _BOTH = {"||": _OR, ".or.": _OR}, {"&&": _AND, ".and.": _AND}
_BITS: tuple[dict[str, int], ...] = ({"|": _BITS_OR}, {"^": _BITS_XOR}, {"&": _BITS_AND})
_SAME = {"==": _EQUAL, ".eq.": _EQUAL, "!=": _NOT_EQUAL, "/=": _NOT_EQUAL, ".ne.": _NOT_EQUAL}
_ORDER = {
    "<=": _LESS_EQUAL, ".le.": _LESS_EQUAL, ">=": _GREATER_EQUAL, ".ge.": _GREATER_EQUAL,
    "<": _LESS, ".lt.": _LESS, ">": _GREATER, ".gt.": _GREATER,
}  # fmt: skip
_COMPARED = {**_SAME, **_ORDER}
_LOGICAL = (*_EQUIVALENT, *_EITHER, *_BOTH, ".not.", "!")
_SUMS = {"+": _ADD, "-": _SUBTRACT}
_PRODUCTS = {"*": _MULTIPLY, "/": _DIVIDE, "//": _QUOTIENT, "%": _REMAINDER}
_OF_C = (_EITHER, _BOTH, *_BITS, _SAME, _ORDER, _SUMS, _PRODUCTS)
_OF_FORTRAN = (_EQUIVALENT, _EITHER, _BOTH, _COMPARED, _SUMS, {"*": _MULTIPLY, "/": _DIVIDE},
               {"**": _POWER})  # fmt: skip
_OTHERS = (_EITHER, _BOTH, _COMPARED, *_BITS, _SUMS, _PRODUCTS, {"**": _POWER})
_TOKEN = re.compile(
    r"\s+|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|->|<<|>>|::|\*\*|//"
    r"|(?:0[xX][\da-fA-F]+|(?:\d+(?:\.(?![A-Za-z]+\.)\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?)\w*"
    r"|\.(?:or|and|not|eqv|neqv|le|ge|eq|ne|lt|gt)\.|\|\||&&|[<>=!/]=|[\w$]+|.",
    re.IGNORECASE | re.DOTALL,
)
OF_ONE = {
    **dict.fromkeys(("abs", "fabs"), _ABS),
    **dict.fromkeys(("isfinite", "ieee_is_finite"), _FINITE),
    **dict.fromkeys(("isnan", "ieee_is_nan"), _NAN),
    **{"isinf": _INFINITE, "sqrt": _ROOT},
}
_PARTS = {"real": 0, "dble": 0, "aimag": 1, "imag": 1}  # of complex numbers
_PARTS_OF_C = {"creal": 0, "cimag": 1}
_OF_TWO = {"pow": _POWER, "mod": _REMAINDER, "fmod": _REMAINDER}
# A call of one of these, np.abs(u), std::abs(u), or a group.
_CALLED = re.compile(r"((?:(?:np|numpy|math|std)\s*(?:\.|::)\s*)?)(\w*)\s*(\(.*\))", re.DOTALL)
FUNCTIONS = (*OF_ONE, *_PARTS, *_PARTS_OF_C, *_OF_TWO, "modulo")
_PART_OF = re.compile(r"(.+?)\s*%\s*(re|im)", re.DOTALL | re.IGNORECASE)
_TRUTH, _WHOLE, _REAL = range(3)  # what an expression's values are
_TRUTHS = (*_COMPARED.values(), _AND, _OR)
_Step = tuple[int, int, float, float]
NOTHING = 2**64 - 1


@dataclass
class Plan:
    fold: int
    arrays: list[Array] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)
    type: Any = None
    """GDB's type of the value; None: that follows from the fold and the elements."""
    is_real: bool = False
    """Are the elements that the fold takes real numbers?"""
    flat: bool = False
    """Is an element's place wanted as one number, from 0, of all dimensions?"""
    loaded: dict[tuple[str, int], int] = field(default_factory=dict)
    """(Name, 1 for the imaginary part) -> place in `arrays`."""

    def request(self) -> dict[str, Any]:
        """The plan as JSON for the server.  Raises gdb.error."""
        if not self.arrays:
            raise gdb.error(
                "There is no array in it; for a pointer p to 100 elements write p[0]@100."
            )
        if any(one.bits for one in self.arrays):
            raise gdb.error("rdb cannot compute with bits here.")
        if self._depth() > _DEPTH:
            raise gdb.error("This is too much for one predicate: there are too many parentheses.")
        extents = self.arrays[0].extents
        if any(one.extents != extents for one in self.arrays):
            shapes = dict.fromkeys(f"{one.base} has {one.extents[::-1]}" for one in self.arrays)
            raise gdb.error(f"Arrays of different shapes: {' and '.join(shapes)} elements.")
        strides = [[stride for _, _, stride in one.dimensions] for one in self.arrays]
        extents = _merged(extents, strides)
        operands = [
            (one.address, one.kind, one.walk, one.way or mine)
            for one, mine in zip(self.arrays, strides)
        ]
        return {"fold": self.fold, "extents": extents, "operands": operands, "steps": self.steps}

    def _depth(self) -> int:
        """Numbers that wait for their operation, at most."""
        depth = most = 0
        for op, *_ in self.steps:
            depth += 1 if op <= _NUMBER else 0 if op < _ADD else -1
            most = max(most, depth)
        return most

    def run(self) -> tuple[float | int, int | None, list[int]]:
        """The value, the number of the deciding element (None: none), and its nodes.

        Raises gdb.error, gdb.MemoryError.
        """
        of_bits = [one.bits for one in self.arrays if one.bits is not None]
        if of_bits:
            if len(of_bits) < len(self.arrays):
                raise gdb.error("Arrays of bits and other arrays cannot be combined.")
            return (*folded(self.fold, of_bits, self.steps), [0] * len(of_bits))
        try:
            answer = link.ask("fold", json.dumps(self.request()).encode("utf-8").hex())
        except gdb.GdbError as error:
            raise gdb.MemoryError(str(error)) from None
        first = None if answer["first"] == NOTHING else answer["first"]
        return joined(answer["high"], answer["low"]), first, answer["nodes"]


def joined(high: float, low: float) -> float | int:
    """The number from its high and low part: a double cannot hold all 64-bit integers."""
    if (low or abs(high) >= 2**53) and abs(high) <= 2**64:
        return int(high) + int(low)
    return high + low


def _merged(extents: list[int], strides: list[list[int]]) -> list[int]:
    """Extents after joining dimensions without gaps; changes STRIDES, too."""
    merged = list(extents)
    place = 0
    while place + 1 < len(merged):
        if (
            all(mine[place + 1] == mine[place] * merged[place] for mine in strides)
            or merged[place + 1] == 1
        ):
            merged[place] *= merged.pop(place + 1)
            for mine in strides:
                del mine[place + 1]
        else:
            place += 1
    return merged


def compares(text: str) -> bool:
    """Is a comparison or a logical operator applied last in TEXT?"""
    depth = 0
    for token in (found[0].lower() for found in _TOKEN.finditer(text)):
        depth += (token in "([{") - (token in ")]}")
        if not depth and (token in _COMPARED or token in _LOGICAL):
            return True
    return False


def _complex_said(spoken: str) -> str:
    if cpython.running() is not None:
        return "write abs(z), z.real or z.imag"
    return (
        f"write abs(z), {'real(z) or aimag(z)' if spoken == 'fortran' else 'creal(z) or cimag(z)'}"
    )


def planned(fold: int, text: str, mask: str = "") -> Plan:
    """MASK: which elements count; empty: all."""
    plan, spoken = Plan(fold), elements.language("")
    if spoken == "ada":
        text = re.sub(r"(?<![<>:/=])=(?!=)", "==", text)
    found = _Parser(plan).parse(text)
    if mask:
        which = _Parser(plan).parse(mask)
        if which.kind != _TRUTH and any(op == _LOAD for op, *_ in which.steps):
            raise gdb.error(f"{mask} is no mask: it is neither a comparison nor LOGICAL.")
        found.steps += [*which.steps, _step(_MASKED)]
    if fold == _CHECKSUM and plan.arrays:
        if found.steps != [_step(_LOAD)]:
            raise gdb.error("checksum takes an array, no expression.")
        plan.arrays = [plan.arrays[0].of or plan.arrays[0]]
        found.imaginary = []
    if found.imaginary:
        raise gdb.error(f"The elements of {text.strip('()')} are complex: {_complex_said(spoken)}.")
    plan.steps, plan.is_real = found.steps, found.kind == _REAL
    return plan


@dataclass
class _Part:
    """A part of an expression: how it is computed, and what its values are."""

    kind: int
    steps: list[_Step]
    imaginary: list[_Step] = field(default_factory=list)
    """How the imaginary part of a complex value is computed."""


def _step(op: int, which: int = 0, high: float = 0.0, low: float = 0.0) -> _Step:
    return op, which, high, low


class _Parser:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._spoken = elements.language("")
        self._python = cpython.running() is not None
        c_like = self._spoken in ("c", "c++", "asm", "d") and not self._python
        self._levels: Sequence[dict[str, int]] = (
            _OF_C if c_like else _OF_FORTRAN if self._spoken == "fortran" else _OTHERS
        )
        self._signs = {
            sign: level for level, signs in enumerate(self._levels) for sign in signs
        }  # fmt: skip
        self._last = len(self._levels) - 1
        self._of_python = False  # has a name of Python been in it?

    def parse(self, text: str) -> _Part:
        text = text.strip()
        if not text:
            raise gdb.error("A predicate needs an array: all(a > 0).")
        tokens = [one for found in _TOKEN.finditer(text) for one in self._known(found[0])]
        split = self._split(tokens)
        first = tokens[0].lower()
        if split is not None and not self._is_under(first, split[1]):
            place, level = split
            if self._levels is not _OF_C and self._levels[level] is _COMPARED:
                self._need_one_comparison(tokens[:place])
            left, right = (
                self.parse("".join(tokens[:place])),
                self.parse("".join(tokens[place + 1 :])),
            )
            return self._of_two(self._levels[level][tokens[place].lower()], left, right, text)
        if first == "+":
            return self.parse("".join(tokens[1:]))
        if first in ("-", "!", ".not.", "~"):
            return self._denied(first, self.parse("".join(tokens[1:])))
        call = _CALLED.fullmatch(text)
        if call and _is_one_group(call[3]):
            if not call[2] and not call[1]:
                return self.parse(call[3][1:-1])
            name = call[2].lower() if self._spoken == "fortran" else call[2]
            found = self._called(name, call[3][1:-1], text)
            if found is not None:
                return found
        return self._operand(text)

    def _known(self, token: str) -> Sequence[str]:
        """`a ** p` is `a * *p` in C."""
        return (token,) if token in self._signs or token not in ("**", "//") else tuple(token)

    def _is_under(self, first: str, level: int) -> bool:
        """Is this sign at the beginning applied after the operator?"""
        if first == ".not.":
            return level > self._signs["&&"]
        return first == "-" and "**" in self._levels[level]

    def _need_one_comparison(self, tokens: list[str]) -> None:
        """In other languages than C `0 < a < 1` is an error, or means two comparisons."""
        split = self._split(tokens)
        if split is not None and self._levels[split[1]] is _COMPARED:
            raise gdb.error("Comparisons cannot be chained here: write a > 0 && a < 1.")

    def _split(self, tokens: list[str]) -> tuple[int, int] | None:
        """Index and level of the operator that is applied last; None: there is none."""
        depth, found = 0, None
        before = ""  # last token that is no blank: a sign after an operator is unary
        for place, token in enumerate(tokens):
            level = self._signs.get(token.lower())
            if token in ("(", "[", "{"):
                depth += 1
            elif token in (")", "]", "}"):
                depth -= 1
            elif level is None or depth or not self._ends_operand(before):
                pass
            elif found is None or level < found[1] or (level == found[1] and token != "**"):
                found = (place, level)  # of equal ones the last is applied last, but for powers
            before = token if token.strip() else before
        return found

    def _ends_operand(self, token: str) -> bool:
        return (
            bool(re.search(r"[\w$)\]}'\"]$", token)) and token.lower() not in self._signs
        ) or bool(re.fullmatch(r"\d+\.", token))

    def _denied(self, sign: str, of: _Part) -> _Part:
        if sign == "-":
            imaginary = [*of.imaginary, _step(_NEGATE)] if of.imaginary else []
            return _Part(max(of.kind, _WHOLE), [*of.steps, _step(_NEGATE)], imaginary)
        if sign == "~" and not (self._python and of.kind == _TRUTH):
            raise gdb.error("rdb computes ~ of comparisons in Python only.")
        self._need_real(of, sign)
        return _Part(_TRUTH, [*of.steps, _step(_NOT)])

    def _called(self, name: str, argument: str, text: str) -> _Part | None:
        """The value of a function; None: it is none that rdb knows."""
        if name in _OF_TWO or (name == "modulo" and self._spoken == "fortran"):
            numbers = given(argument)
            if len(numbers) != 2:
                return None
            left, right = (self.parse(one) for one in numbers)
            return self._of_two(_OF_TWO.get(name, _REMAINDER), left, right, text, name == "modulo")
        parts = _PARTS if self._spoken == "fortran" or self._python else _PARTS_OF_C
        if name not in OF_ONE and name not in parts:
            return None
        of = self.parse(argument)
        if name in parts:
            steps = of.imaginary if parts[name] else of.steps
            return _Part(_REAL, steps or [*of.steps, _step(_NUMBER), _step(_MULTIPLY)])
        op = OF_ONE[name]
        if not of.imaginary:
            kind = {_ABS: max(of.kind, _WHOLE), _ROOT: _REAL}.get(op, _TRUTH)
            return _Part(kind, [*of.steps, _step(op)])
        if op == _ROOT:
            self._need_real(of, name)
        if op == _ABS:
            squares = (_square(of.steps), _square(of.imaginary))
            return _Part(_REAL, [*squares[0], *squares[1], _step(_ADD), _step(_ROOT)])
        both = [*of.steps, _step(op), *of.imaginary, _step(op)]
        return _Part(_TRUTH, [*both, _step(_AND if op == _FINITE else _OR)])

    def _need_real(self, of: _Part, sign: str) -> None:
        if of.imaginary:
            raise gdb.error(f"{sign} of complex elements cannot be computed here.")

    def _of_two(self, op: int, left: _Part, right: _Part, text: str, floor: bool = False) -> _Part:
        kind = max(left.kind, right.kind)
        if left.imaginary or right.imaginary:
            return self._complex(op, left, right, text)
        if op in (_SAME_TRUTH, _OTHER_TRUTH):
            return _Part(_TRUTH, [*left.steps, _step(_NOT), *right.steps, _step(_NOT), _step(-op)])
        steps = [*left.steps, *right.steps]
        if op in _TRUTHS:
            return _Part(_TRUTH, [*steps, _step(op)])
        if op in (_BITS_AND, _BITS_OR, _BITS_XOR):
            if kind == _REAL:
                raise gdb.error(f"{text}: bits of real numbers.")
            return _Part(kind, [*steps, _step(op)])
        floor = floor or self._of_python
        if op == _DIVIDE and kind != _REAL and not self._of_python:
            op = _QUOTIENT
        if op == _DIVIDE:
            kind = _REAL
        if op in (_QUOTIENT, _REMAINDER) and floor:
            # b as the remainder has the sign of a: ((a % b) + b) % b has that of b.
            rest = [*steps, _step(_REMAINDER), *right.steps, _step(_ADD), *right.steps]
            rest.append(_step(_REMAINDER))
            if op == _REMAINDER:
                return _Part(max(kind, _WHOLE), rest)
            steps = [*left.steps, *rest, _step(_SUBTRACT), *right.steps, _step(_DIVIDE)]
            return _Part(max(kind, _WHOLE), steps)
        return _Part(max(kind, _WHOLE), [*steps, _step(op)])

    def _complex(self, op: int, left: _Part, right: _Part, text: str) -> _Part:
        """(a + bi) op (c + di)"""
        zero = [_step(_NUMBER)]
        a, b, c, d = left.steps, left.imaginary or zero, right.steps, right.imaginary or zero
        if op in (_ADD, _SUBTRACT):
            return _Part(_REAL, [*a, *c, _step(op)], [*b, *d, _step(op)])
        if op in (_EQUAL, _NOT_EQUAL):
            joined_by = _step(_AND if op == _EQUAL else _OR)
            return _Part(_TRUTH, [*a, *c, _step(op), *b, *d, _step(op), joined_by])
        if op in (_MULTIPLY, _DIVIDE) and not right.imaginary:
            return _Part(_REAL, [*a, *c, _step(op)], [*b, *c, _step(op)])
        if op == _MULTIPLY:
            times = _step(_MULTIPLY)
            real = [*a, *c, times, *b, *d, times, _step(_SUBTRACT)]
            return _Part(_REAL, real, [*a, *d, times, *b, *c, times, _step(_ADD)])
        raise gdb.error(f"{text}: rdb cannot compute this with complex elements.")

    def _operand(self, text: str) -> _Part:
        part = _PART_OF.fullmatch(text) if self._spoken == "fortran" else None
        if part is not None:
            with suppress(gdb.error):  # it is a component of that name
                of = self._operand(part[1])
                if of.imaginary:
                    return _Part(_REAL, of.imaginary if part[2].lower() == "im" else of.steps)
        found, of_python = _operand(text)
        self._of_python = self._of_python or of_python
        if not isinstance(found, Array):
            return _Part(_REAL if isinstance(found, float) else _WHOLE, [_number(found)])
        kind = _REAL if found.is_real else _TRUTH if found.is_truth else _WHOLE
        views = found.parts() if found.is_complex else [found]
        return _Part(kind, *([_step(_LOAD, self._loaded(text, *one))] for one in enumerate(views)))

    def _loaded(self, text: str, place: int, array: Array) -> int:
        """The number of the operand; the same one for an array that is written twice."""
        key = (text, place)
        if key not in self._plan.loaded:
            self._plan.loaded[key] = len(self._plan.arrays)
            self._plan.arrays.append(array)
        return self._plan.loaded[key]


def _square(steps: list[_Step]) -> list[_Step]:
    return [*steps, *steps, _step(_MULTIPLY)]


def given(text: str) -> list[str]:
    """The arguments of a call, which commas separate."""
    found, depth = [""], 0
    for token in (one[0] for one in _TOKEN.finditer(text)):
        depth += (token in "([{") - (token in ")]}")
        if token == "," and not depth:
            found.append("")
        else:
            found[-1] += token
    return found


def _is_one_group(text: str) -> bool:
    depth = 0
    for place, token in enumerate(text):
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def _operand(text: str) -> tuple[Array | int | float, bool]:
    """The value of an operand, and is it a variable of Python?"""
    number = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?)(?:_\w+|[fFlL])?", text)
    if number:
        plain = number[1].lower().replace("d", "e")
        return int(plain) if plain.isdigit() else float(plain), False
    named = pynames.operand(text)
    if named is not None:
        return named, True
    array = _of_each(text, gdb.TYPE_CODE_ARRAY)
    try:
        value: Any = None if array else _evaluated(text)
        array = array or located(text, value)
    except gdb.error:
        array = _of_each(text, gdb.TYPE_CODE_STRUCT)
        if array is None:
            raise
    if array is not None:
        return array, False
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        raise gdb.error(f"{text} is a pointer: write {text}[0]@100 for 100 elements.")
    return float(value) if kind.code == gdb.TYPE_CODE_FLT else int(value), False


def alone(array: Array, type_: Any) -> Plan:
    """The plan whose value is the only element of ARRAY."""
    return Plan(_SUM, [array], [_step(_LOAD)], type_)


def _of_each(text: str, code: int) -> Array | None:
    """A member of each element: `cells.pos[0]`, `p[0]@n.x`; None: it is none.

    GDB itself cannot evaluate it, or takes it for the member of the first element.
    """
    for found in re.finditer(r"\s*[.%]\s*(?=[A-Za-z_])", text):
        whole = text[: found.start()]
        if whole.count("(") != whole.count(")") or whole.count("[") != whole.count("]"):
            continue
        try:
            value = _evaluated(whole)
        except gdb.error:
            continue
        if referred(value.type.strip_typedefs(), elements.language(whole)):
            value = value.dereference()
        if value.type.strip_typedefs().code == code:
            try:
                return located(whole, value, text[found.start() :])
            except NoArray:
                continue  # a member that is an array may follow
    return None


def _evaluated(text: str) -> Any:
    """The value of TEXT; `p[0]@n` is not read, as GDB would do, and refuse if it is large."""
    text = subscripts.for_gdb(text)
    try:
        return _counted(text)
    except gdb.error:
        followed = wrapped.followed(text)
        if followed is None:
            raise
        return _counted(followed)


def _counted(text: str) -> Any:
    first, sign, count = text.rpartition("@")
    if not sign:
        return symbols.evaluated(text)
    value, number = symbols.evaluated(first), int(symbols.evaluated(count))
    if value.address is None or number < 1:
        return symbols.evaluated(text)  # GDB reports what is wrong
    pointer = value.type.array(number - 1).pointer()
    return value.address.cast(pointer).dereference()


def _number(value: int | float) -> _Step:
    high = float(value)
    return _step(_NUMBER, 0, high, float(value - int(high)) if isinstance(value, int) else 0.0)
