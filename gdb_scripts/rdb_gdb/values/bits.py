"""std::vector<bool> and std::bitset, of libstdc++ and libc++: elements without an address.

Their memory is read as a whole, and predicates over them are computed here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import gdb

from .elements import inner

_MOST = 1 << 24
# interposer/interface/agent.h: enum agent_array_op
_LOAD, _NUMBER = 1, 2
_OF_ONE: dict[int, Callable[[float], float]] = {
    3: abs, 4: operator.neg, 5: lambda x: not x, 6: lambda x: True, 7: lambda x: False,
    8: lambda x: False, 9: lambda x: x**0.5 if x >= 0 else math.nan,
}  # fmt: skip
_OF_TWO: dict[int, Callable[[float, float], float]] = {
    10: operator.add, 11: operator.sub, 12: operator.mul, 14: operator.lt, 15: operator.le,
    16: operator.gt, 17: operator.ge, 18: operator.eq, 19: operator.ne,
    20: lambda x, y: bool(x and y), 21: lambda x, y: bool(x or y),
    25: lambda x, y: int(x) & int(y), 26: lambda x, y: int(x) | int(y),
    27: lambda x, y: int(x) ^ int(y),
}  # fmt: skip
_ALL, _ANY, _COUNT, _SUM, _MAX, _MIN, _SORTED, _CHECKSUM, _PRODUCT, _WHERE_MAX, _WHERE_MIN = range(
    1, 12
)  # enum agent_array_fold


@dataclass(frozen=True)
class Bits:
    """COUNT bits from bit FIRST at ADDRESS on."""

    address: int
    first: int
    count: int

    @property
    def length(self) -> int:
        return (self.first + self.count + 7) // 8 if self.count else 0

    def read(self) -> list[bool]:
        if self.count > _MOST:
            raise gdb.error(f"the array is too large: rdb reads {_MOST} bits at most.")
        length = self.length
        raw = gdb.selected_inferior().read_memory(self.address, length) if length else b""
        number = int.from_bytes(bytes(raw), "little") >> self.first
        text = f"{number & (1 << self.count) - 1:0{self.count}b}" if self.count else ""
        return [bit == "1" for bit in reversed(text)]


def bits(value: Any) -> Bits | None:
    """The bits of a container; None: it is no such container."""
    kind = value.type.unqualified().strip_typedefs()
    name = kind.name or ""
    start = inner(value, "_M_impl._M_start")
    if name.startswith("std::vector<bool") and start is not None:
        finish = value["_M_impl"]["_M_finish"]
        address, first = int(start["_M_p"]), int(start["_M_offset"])
        away = 8 * (int(finish["_M_p"]) - address)
        return Bits(address, first, away + int(finish["_M_offset"]) - first)
    if name.startswith("std::__1::vector<bool"):
        return Bits(int(value["__begin_"]), 0, int(inner(value, "__size_")))
    if name.startswith(("std::bitset<", "std::__1::bitset<")):
        words = inner(value, "_M_w") if "__1" not in name else inner(value, "__first_")
        count = int(kind.template_argument(0))
        if words is not None or count == 0:
            return Bits(int(words.address) if words is not None else 0, 0, count)
    return None


def folded(
    fold: int, arrays: Sequence[Bits], steps: Iterable[tuple[int, int, float, float]]
) -> tuple[float | int, int | None]:
    """The value of a predicate, and the number of the deciding element (None: none).

    Raises gdb.error.
    """
    if len({one.count for one in arrays}) > 1:
        raise gdb.error(f"Arrays of different shapes: {', '.join(str(a.count) for a in arrays)}.")
    values = _computed([one.read() for one in arrays], steps, arrays[0].count)
    if fold in (_ALL, _ANY):
        first = next((at for at, one in enumerate(values) if bool(one) is (fold == _ANY)), None)
        return int((first is None) is (fold == _ALL)), first
    if fold == _COUNT:
        return sum(map(bool, values)), None
    if fold == _SUM:
        return sum(values), None
    if fold == _SORTED:
        pairs = enumerate(zip(values, values[1:]), 1)
        first = next((at for at, (before, one) in pairs if one < before), None)
        return int(first is None), first
    if fold == _PRODUCT:
        return math.prod(values), None
    if fold == _CHECKSUM:
        raise gdb.error("rdb computes no checksum of an array of bits.")
    if not values:
        none = {_MAX: -math.inf, _MIN: math.inf}
        return none.get(fold, -1), None
    found = max(values) if fold in (_MAX, _WHERE_MAX) else min(values)
    if fold in (_WHERE_MAX, _WHERE_MIN):
        return values.index(found), values.index(found)
    return int(found) if found == int(found) else found, values.index(found)


def _computed(
    loaded: list[list[bool]], steps: Iterable[tuple[int, int, float, float]], count: int
) -> list[float]:
    stack: list[list[float]] = []
    for op, which, high, low in steps:
        if op == _LOAD:
            stack.append([float(one) for one in loaded[which]])
        elif op == _NUMBER:
            stack.append([high + low] * count)
        elif op in _OF_ONE:
            stack.append([_OF_ONE[op](one) for one in stack.pop()])
        elif op in _OF_TWO:
            right, left = stack.pop(), stack.pop()
            stack.append([_OF_TWO[op](*two) for two in zip(left, right)])
        else:
            raise gdb.error("Arrays of bits cannot be divided.")
    return stack[0]
