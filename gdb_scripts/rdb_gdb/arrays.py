"""Arrays and containers as they lie in memory: address, extents, strides; names of elements.

An element has the indices that the program gives it, also in a section of an array of Fortran and
in `p[3]@100`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import gdb

from . import elements, symbols
from .nodes import Nodes, nodes

_KINDS = {(True, 1): 1, (False, 1): 2, (True, 2): 3, (False, 2): 4, (True, 4): 5, (False, 4): 6,
          (True, 8): 7, (False, 8): 8}  # fmt: skip
_REALS = {2: 12, 4: 9, 8: 10, 16: 11}  # interposer/agent/agent.h: enum agent_array_type
_SIZES = {kind: size for (_, size), kind in _KINDS.items()} | {9: 4, 10: 8, 11: 16, 12: 2}
_WHOLE = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM)
# Containers in one piece: where the first element is, and where the last one ends or how many.
_PIECES = (
    ("_M_impl._M_start", "_M_impl._M_finish"),  # std::vector
    ("__begin_", "__end_"),
    ("_M_data", "_M_size"),  # std::valarray
    ("_M_ptr", "_M_extent._M_extent_value"),  # std::span
    ("array", "len"),  # Go
    ("ptr", "length"),  # D
    ("data_ptr", "length"),  # Rust
    ("m_storage.m_data", "m_storage.m_rows"),  # Eigen
)
_ADAPTER = re.compile(r"std::(\w+::)*(stack|queue|priority_queue)<")


@dataclass
class Array:
    """DIMENSIONS: (lowest index, extent, stride in bytes); which changes first is the first."""

    address: int
    kind: int
    dimensions: list[tuple[int, int, int]]
    base: str
    spoken: str
    is_complex: bool = False
    steps: list[int] = field(default_factory=list)  # between indices, of a section
    fixed: dict[int, str] = field(default_factory=dict)  # indices that the section keeps
    first: Any = None  # of a container: the pointer to its first element
    nodes: Nodes | None = None  # of one whose elements lie apart

    @classmethod
    def of_nodes(cls, text: str, found: Nodes, spoken: str) -> Array:
        kind = _kind(found.kind.strip_typedefs(), text)
        return cls(found.address, kind, [(0, found.count, 0)], text, spoken, nodes=found)

    @property
    def walk(self) -> int:
        return self.nodes.walk if self.nodes else 0

    @property
    def way(self) -> list[int]:
        """To the next element, of nodes and blocks."""
        return self.nodes.way if self.nodes else []

    @property
    def is_real(self) -> bool:
        return self.kind in _REALS.values()

    @property
    def extents(self) -> list[int]:
        return [extent for _, extent, _ in self.dimensions]

    @property
    def span(self) -> tuple[int, int]:
        """(address, length) of the memory from its first byte to its last."""
        far = [(extent - 1) * stride for _, extent, stride in self.dimensions]
        size = _SIZES[self.kind]
        return self.address + sum(min(one, 0) for one in far), sum(map(abs, far)) + size

    def name(self, number: int, node: int) -> str:
        """Of the element that comes NUMBERth, from 0, at its NODE."""
        if self.nodes:
            return self.base + self.nodes.name(number, node)
        indices: list[int | str] = []
        for place, (low, extent, _) in enumerate(self.dimensions):
            if self.is_complex and place == 0:
                number //= extent
                continue
            step = self.steps[len(indices)] if self.steps else 1
            indices.append(low + number % extent * step)
            number //= extent
        for place in sorted(self.fixed):
            indices.insert(place, self.fixed[place])
        return self.base + elements.element(self.spoken, indices[::-1])

    def shown(self, number: int, node: int) -> str:
        if self.nodes:
            return self.nodes.shown(number, node)
        try:
            value = symbols.evaluated(self.name(number, node))
        except gdb.error:  # the program never calls its operator[]
            if self.first is None or len(self.dimensions) > 1:
                raise
            value = (self.first + number).dereference()
        return str(value.format_string())


def located(text: str, value: Any) -> Array | None:
    """None: it is no array, but one value."""
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return located(text, value.referenced_value())
    spoken = elements.language(text)
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return _container(text, value, spoken)
    if kind.code != gdb.TYPE_CODE_ARRAY:
        return None
    found = _array(text, value, spoken)
    _name_as_written(found, text)
    return found


def _array(text: str, value: Any, spoken: str) -> Array:
    if value.is_optimized_out:
        raise gdb.error(f"{text} is optimized out here.")
    if value.address is None:
        raise gdb.error(f"{text} is not in memory.")
    dimensions: list[tuple[int, int, int]] = []
    one = value
    while one.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
        low, high = one.type.strip_typedefs().range()
        extent = high - low + 1
        if extent < 1:
            dimensions.append((low, 0, 0))
            return Array(0, _REALS[8], dimensions[::-1], text, spoken)
        first = one[low]
        stride = int(one[low + 1].address) - int(first.address) if extent > 1 else 0
        dimensions.append((low, extent, stride))
        one = first
    inner = one.type.strip_typedefs()
    if inner.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        nested = _container(text, one, spoken)
        if nested is None or not _fixed_size(inner):
            raise gdb.error(f"the elements of {text} are no numbers: {inner}.")
        dimensions += nested.dimensions[::-1]
        return Array(int(one.address), nested.kind, dimensions[::-1], text, spoken)
    array = Array(int(one.address), _kind(inner, text), dimensions[::-1], text, spoken)
    if inner.code == gdb.TYPE_CODE_COMPLEX:
        array.is_complex = True
        array.dimensions.insert(0, (0, 2, inner.sizeof // 2))
    return array


def _fixed_size(kind: Any) -> bool:
    return any(one.name in elements.STD_ARRAY for one in kind.fields())


def _kind(kind: Any, text: str) -> int:
    code, size = kind.code, kind.sizeof
    if code == gdb.TYPE_CODE_COMPLEX:
        code, size = gdb.TYPE_CODE_FLT, size // 2
    if code == gdb.TYPE_CODE_RANGE:
        return _kind(kind.target().strip_typedefs(), text)
    if code == gdb.TYPE_CODE_FLT and size in _REALS and "128" not in str(kind):
        return _REALS[size]
    if code == gdb.TYPE_CODE_PTR:
        return _KINDS[False, 8]
    if code in _WHOLE and size in (1, 2, 4, 8):
        least = gdb.Value(b"\xff" * size, kind).cast(_wider(kind)) if size else 0
        return _KINDS[int(least) < 0 and code != gdb.TYPE_CODE_BOOL, size]
    raise gdb.error(f"the elements of {text} are no numbers: {kind}.")


def _wider(kind: Any) -> Any:
    return gdb.lookup_type("long") if kind.sizeof < 8 else kind


def _container(text: str, value: Any, spoken: str) -> Array | None:
    kind = value.type.strip_typedefs()
    for one in kind.fields():
        if one.name in elements.STD_ARRAY:
            return located(text, value[one])
    for first, end in _PIECES:
        start, last = elements.inner(value, first), elements.inner(value, end)
        if last is None and re.match(r"std::span<.*>$", kind.name or ""):
            last = kind.template_argument(1)  # how many is a part of the type
        if start is None or last is None or start.type.strip_typedefs().code != gdb.TYPE_CODE_PTR:
            continue
        size = start.type.strip_typedefs().target().sizeof
        is_pointer = last.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        count = (int(last) - int(start)) // size if is_pointer else int(last)
        if count == 0:
            return Array(0, _REALS[8], [(0, 0, 0)], text, spoken)
        pointer = start.type.strip_typedefs().target().array(count - 1).pointer()
        found = _array(text, start.cast(pointer).dereference(), spoken)
        found.first = start
        return found
    found = nodes(value)
    if found is not None:
        return Array.of_nodes(text, found, spoken)
    if _ADAPTER.match(kind.name or ""):
        return located(text, value["c"])
    if elements.is_container(value):
        raise gdb.error(f"{text}: the elements of a {kind.name} lie apart, in a way unknown here.")
    raise gdb.error(f"{text} is neither an array nor a container: name one of its members.")


def _name_as_written(array: Array, text: str) -> None:
    """`a(1:5:2, 3)` and `p[3]@100` have elements of `a` and `p`."""
    repeated = re.fullmatch(r"(.*)\[([^\[\]]*)\]\s*@.*", text, re.DOTALL)
    if repeated and "@" not in repeated[1]:
        _, extent, stride = array.dimensions[-1]
        array.base = repeated[1]
        array.dimensions[-1] = (int(gdb.parse_and_eval(repeated[2])), extent, stride)
        return
    section = re.fullmatch(r"(.*)\(([^()]*:[^()]*)\)\s*", text, re.DOTALL)
    if array.spoken != "fortran" or section is None:
        return
    array.base = section[1]
    whole = elements.ranges(gdb.parse_and_eval(section[1]).type)[0][::-1]
    offset = int(array.is_complex)
    array.steps = []
    for place, part in enumerate(section[2].split(",")):
        if ":" not in part:
            array.fixed[place] = str(int(gdb.parse_and_eval(part)))
            continue
        first, _, rest = part.partition(":")
        step = rest.partition(":")[2].strip()
        low = int(gdb.parse_and_eval(first)) if first.strip() else whole[place][0]
        at = offset + len(array.steps)
        array.dimensions[at] = (low, *array.dimensions[at][1:])
        array.steps.append(int(gdb.parse_and_eval(step)) if step else 1)
