"""Expressions over arrays, element by element: parsed here, computed by the agent.

`abs(u) < 1e6 && u != v` becomes steps in postfix order; GDB evaluates the operands.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import gdb

from .. import link
from . import elements, pynames, subscripts, symbols, wrapped
from .arrays import Array, NoArray, located, referred
from .bits import folded

_SUM = 4  # interposer/interface/agent.h: enum agent_array_fold
# interposer/interface/agent.h: enum agent_array_op
_LOAD, _NUMBER, _ABS, _NEGATE, _NOT, _FINITE, _NAN = range(1, 8)
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = range(8, 12)
_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL, _EQUAL, _NOT_EQUAL, _AND, _OR = range(12, 20)
_LEVELS: tuple[dict[str, int], ...] = (
    {"||": _OR, ".or.": _OR},
    {"&&": _AND, ".and.": _AND},
    {"<=": _LESS_EQUAL, ".le.": _LESS_EQUAL, ">=": _GREATER_EQUAL, ".ge.": _GREATER_EQUAL,
     "==": _EQUAL, ".eq.": _EQUAL, "!=": _NOT_EQUAL, "/=": _NOT_EQUAL, ".ne.": _NOT_EQUAL,
     "<": _LESS, ".lt.": _LESS, ">": _GREATER, ".gt.": _GREATER},
    {"+": _ADD, "-": _SUBTRACT},
    {"*": _MULTIPLY, "/": _DIVIDE},
)  # fmt: skip
_OF_AND = 1
_SIGNS = {
    sign: level
    for level, signs in enumerate(_LEVELS)
    for sign in sorted(signs, key=len, reverse=True)
}
_TOKEN = re.compile(
    r"\s+|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|->|<<|>>|::"
    r"|(?:0[xX][\da-fA-F]+|(?:\d+(?:\.(?![A-Za-z]+\.)\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?)\w*"
    r"|\.(?:or|and|not|le|ge|eq|ne|lt|gt)\.|\|\||&&|[<>=!/]=|[\w$]+|.",
    re.IGNORECASE | re.DOTALL,
)
OF_ONE = {"abs": _ABS, "fabs": _ABS, "isfinite": _FINITE, "isnan": _NAN}
NOTHING = 2**64 - 1


@dataclass
class Plan:
    fold: int
    arrays: list[Array] = field(default_factory=list)
    steps: list[tuple[int, int, float, float]] = field(default_factory=list)
    type: Any = None
    """GDB's type of the value; None: that follows from the fold and the elements."""

    def request(self) -> dict[str, Any]:
        """The plan as JSON for the server.  Raises gdb.error."""
        if not self.arrays:
            raise gdb.error(
                "There is no array in it; for a pointer p to 100 elements write p[0]@100."
            )
        if any(one.bits for one in self.arrays):
            raise gdb.error("rdb cannot compute with bits here.")
        extents = self.arrays[0].extents
        if any(one.extents != extents for one in self.arrays):
            shapes = " and ".join(f"{one.base} has {one.extents[::-1]}" for one in self.arrays)
            raise gdb.error(f"Arrays of different shapes: {shapes} elements.")
        strides = [[stride for _, _, stride in one.dimensions] for one in self.arrays]
        extents = _merged(extents, strides)
        operands = [
            (one.address, one.kind, one.walk, one.way or mine)
            for one, mine in zip(self.arrays, strides)
        ]
        return {"fold": self.fold, "extents": extents, "operands": operands, "steps": self.steps}

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


def planned(fold: int, text: str) -> Plan:
    plan = Plan(fold)
    if elements.language("") == "ada":
        text = re.sub(r"(?<![<>:/=])=(?!=)", "==", text)
    _parse(plan, text)
    return plan


def _parse(plan: Plan, text: str) -> None:
    text = text.strip()
    if not text:
        raise gdb.error("A predicate needs an array: all(a > 0).")
    tokens = [found[0] for found in _TOKEN.finditer(text)]
    split = _split(tokens)
    denies = tokens[0].lower() == ".not."  # of Fortran: after comparisons, unlike `!`
    if split is not None and not (denies and split[1] > _OF_AND):
        place, level = split
        _parse(plan, "".join(tokens[:place]))
        _parse(plan, "".join(tokens[place + 1 :]))
        plan.steps.append((_LEVELS[level][tokens[place].lower()], 0, 0.0, 0.0))
        return
    if denies or tokens[0] in ("-", "!"):
        _parse(plan, "".join(tokens[1:]))
        plan.steps.append((_NEGATE if tokens[0] == "-" else _NOT, 0, 0.0, 0.0))
        return
    call = re.fullmatch(r"(\w*)\s*(\(.*\))", text, re.DOTALL)
    if call and _is_one_group(call[2]) and (not call[1] or call[1] in OF_ONE):
        _parse(plan, call[2][1:-1])
        if call[1]:
            if plan.arrays and plan.arrays[-1].is_complex and call[1] not in ("isfinite", "isnan"):
                raise gdb.error(
                    f"{text}: rdb cannot compute absolute values of complex elements here."
                )
            plan.steps.append((OF_ONE[call[1]], 0, 0.0, 0.0))
        return
    _operand(plan, text)


def _split(tokens: list[str]) -> tuple[int, int] | None:
    """Index and level of the operator that is applied last; None: there is none."""
    depth, found = 0, None
    before = ""  # last token that is no blank: a sign after an operator is unary
    for place, token in enumerate(tokens):
        level = _SIGNS.get(token.lower())
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
        elif level is None or depth or not _ends_operand(before):
            pass
        elif found is None or level <= found[1]:  # of equal ones the last is applied last
            found = (place, level)
        before = token if token.strip() else before
    return found


def _ends_operand(token: str) -> bool:
    return (bool(re.search(r"[\w$)\]}'\"]$", token)) and token.lower() not in _SIGNS) or (
        bool(re.fullmatch(r"\d+\.", token))
    )


def _is_one_group(text: str) -> bool:
    depth = 0
    for place, token in enumerate(text):
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def _operand(plan: Plan, text: str) -> None:
    number = re.fullmatch(r"((?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?)(?:_\w+|[fFlL])?", text)
    if number:
        plain = number[1].lower().replace("d", "e")
        _number(plan, int(plain) if plain.isdigit() else float(plain))
        return
    named = pynames.operand(text)
    if isinstance(named, Array):
        _load(plan, named)
        return
    if named is not None:
        _number(plan, named)
        return
    array = _of_each(text, gdb.TYPE_CODE_ARRAY)
    try:
        value: Any = None if array else _evaluated(text)
        array = array or located(text, value)
    except gdb.error:
        array = _of_each(text, gdb.TYPE_CODE_STRUCT)
        if array is None:
            raise
    if array is None:
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_PTR:
            raise gdb.error(f"{text} is a pointer: write {text}[0]@100 for 100 elements.")
        real = kind.code == gdb.TYPE_CODE_FLT
        _number(plan, float(value) if real else int(value))
        return
    _load(plan, array)


def alone(array: Array, type_: Any) -> Plan:
    """The plan whose value is the only element of ARRAY."""
    plan = Plan(_SUM, type=type_)
    _load(plan, array)
    return plan


def _load(plan: Plan, array: Array) -> None:
    plan.arrays.append(array)
    plan.steps.append((_LOAD, len(plan.arrays) - 1, 0.0, 0.0))


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


def _number(plan: Plan, value: Any) -> None:
    high = float(value)
    low = float(value - int(high)) if isinstance(value, int) else 0.0
    plan.steps.append((_NUMBER, 0, high, low))
