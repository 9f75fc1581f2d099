"""Arrays of Fortran whose elements have arrays of their own sizes: allocatable components.

GDB 13 shows each element with the bounds and the place of the first one's array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gdb

from ..loading import at_load


class _Elements:
    def __init__(self, value: Any) -> None:
        self._value = value

    def display_hint(self) -> str:
        return "array"

    def children(self) -> Iterator[tuple[str, Any]]:
        kind = self._value.type.strip_typedefs()
        low, high = kind.range()
        stride = kind.sizeof // (high - low + 1)
        pointer = kind.target().pointer()
        for number in range(high - low + 1):
            at = int(self._value.address) + number * stride
            yield f"({low + number})", gdb.Value(at).cast(pointer).dereference()


def _printer(value: Any) -> Any:
    kind = value.type.strip_typedefs()
    if kind.code != gdb.TYPE_CODE_ARRAY or not kind.target().dynamic:
        return None
    of = kind.target().strip_typedefs()
    while of.code == gdb.TYPE_CODE_ARRAY:
        of = of.target().strip_typedefs()
    if of.code != gdb.TYPE_CODE_STRUCT:
        return None
    # Of an array that only GDB has, the address costs a call of malloc: none of those is dynamic.
    if value.address is None or not int(value.address):
        return None
    low, high = kind.range()
    return _Elements(value) if high >= low else None


@at_load
def define() -> None:
    gdb.pretty_printers.append(_printer)
