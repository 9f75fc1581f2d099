"""The layout of arrays and containers in memory: address, extents, strides; names of elements.

An element has the indices that the program gives it, also in a section of a Fortran array and in
`p[3]@100`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any

import gdb

from . import absent, elements, inherited, reserved, symbols
from .bits import Bits, bits
from .nodes import Nodes, nodes, ring

_KINDS = {(True, 1): 1, (False, 1): 2, (True, 2): 3, (False, 2): 4, (True, 4): 5, (False, 4): 6,
          (True, 8): 7, (False, 8): 8}  # fmt: skip
_REALS = {2: 12, 4: 9, 8: 10, 16: 11}  # interposer/interface/agent.h: enum agent_array_type
_SIZES = {kind: size for (_, size), kind in _KINDS.items()} | {9: 4, 10: 8, 11: 16, 12: 2}
_STRUCTURES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_EACH = "(*$_rdb_each)"
_WHOLE = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM)
# Contiguous containers: pointer to the first element, and end pointer or number of elements.
_PIECES = (
    ("_M_impl._M_start", "_M_impl._M_finish"),  # std::vector
    ("__begin_", "__end_"),
    ("_M_data", "_M_size"),  # std::valarray
    ("_M_ptr", "_M_extent._M_extent_value"),  # std::span
    ("__data", "__size"),
    ("__data_", "__size_"),
    ("array", "len"),  # Go
    ("ptr", "length"),  # D
    ("data_ptr", "length"),  # Rust
    ("m_storage.m_data", "m_storage.m_rows"),  # Eigen
)
OF_RUST = re.compile(r"alloc::(vec::Vec|collections::vec_deque::VecDeque)<")
_ADAPTER = re.compile(r"std::(\w+::)*(stack|queue|priority_queue)<")


class NoArray(gdb.error):
    """The expression is a structure, not an array."""


@dataclass
class Array:
    """DIMENSIONS: (lowest index, extent, stride in bytes), the fastest-changing dimension first."""

    address: int
    kind: int
    dimensions: list[tuple[int, int, int]]
    base: str
    spoken: str
    is_complex: bool = False
    steps: list[int] = field(default_factory=list)  # of a section: distance of indices
    fixed: dict[int, str] = field(default_factory=dict)  # of a section: constant indices
    nodes: Nodes | None = None  # if the elements are not contiguous
    leaf: Any = None  # type of an element
    member: Array | None = None  # the member that is meant of each element
    bits: Bits | None = None  # if the elements are bits
    of: Array | None = None  # the array of complex numbers whose real or imaginary parts these are

    @classmethod
    def of_nodes(cls, text: str, found: Nodes, spoken: str, path: str) -> Array:
        member = _member(text, found.kind, path, spoken) if path else None
        if member is not None:
            if member.dimensions:
                raise gdb.error(
                    f"{text}: {path}, in elements that a container allocates one by one, "
                    "is not a number."
                )
            found = found.member(member.address, member.leaf)
        if found.kind.code == gdb.TYPE_CODE_COMPLEX:
            raise gdb.error(f"{text}: rdb cannot compute with complex numbers that lie apart.")
        kind = kind_of(found.kind, text)
        dimensions = [(0, found.count, 0)]
        return cls(found.address, kind, dimensions, text, spoken, nodes=found, member=member)

    @property
    def walk(self) -> int:
        return self.nodes.walk if self.nodes else 0

    @property
    def way(self) -> list[int]:
        """Parameters of the way to the next element of nodes and blocks."""
        return self.nodes.way if self.nodes else []

    @property
    def is_real(self) -> bool:
        return self.kind in _REALS.values()

    @property
    def is_truth(self) -> bool:
        kind = self.leaf.code if self.leaf else None
        return self.bits is not None or kind == gdb.TYPE_CODE_BOOL

    def be_of(self, leaf: Any, text: str) -> None:
        """Sets the kind of its elements, for elements of type LEAF."""
        of_cxx = re.match(r"std::(\w+::)*complex<", leaf.name or "")
        self.is_complex = of_cxx is not None or leaf.code == gdb.TYPE_CODE_COMPLEX
        self.kind = kind_of(leaf.template_argument(0).strip_typedefs() if of_cxx else leaf, text)
        if self.is_complex:
            self.dimensions.insert(0, (0, 2, leaf.sizeof // 2))

    def parts(self) -> list[Array]:
        """The real and the imaginary parts of complex elements."""
        (_, _, size), *dimensions = self.dimensions
        return [
            replace(self, address=at, dimensions=dimensions, is_complex=False, of=self)
            for at in (self.address, self.address + size)
        ]

    @property
    def extents(self) -> list[int]:
        return [extent for _, extent, _ in self.dimensions]

    @property
    def span(self) -> tuple[int, int]:
        """(address, length) of the memory from the first byte to the last."""
        if self.bits is not None:
            return self.address, self.bits.length
        far = [(extent - 1) * stride for _, extent, stride in self.dimensions]
        size = _SIZES[self.kind]
        return self.address + sum(min(one, 0) for one in far), sum(map(abs, far)) + size

    def name(self, number: int, node: int) -> str:
        """Name of element NUMBER, from 0; NODE: address of its node."""
        if self.of is not None:
            return self.of.name(2 * number, node)
        behind, dimensions = "", self.dimensions
        if self.member is not None:
            number, within = divmod(number, math.prod(self.member.extents))
            behind = self.member.name(within, 0)
            dimensions = dimensions[len(self.member.dimensions) :]
        elif self.is_complex:
            number //= 2
            dimensions = dimensions[1:]
        if self.nodes:
            return self.base + self.nodes.name(number, node) + behind
        indices: list[int | str] = []
        for low, extent, _ in dimensions:
            step = self.steps[len(indices)] if self.steps else 1
            indices.append(low + number % extent * step)
            number //= extent
        for place in sorted(self.fixed):
            indices.insert(place, self.fixed[place])
        return (
            self.base + (elements.element(self.spoken, indices[::-1]) if indices else "") + behind
        )

    def shown(self, number: int, node: int) -> str:
        if self.of is not None:
            return self.of.shown(2 * number, node)
        if self.nodes:
            return self.nodes.shown(number, node)
        if self.bits is not None:
            return str(self.bits.read()[number]).lower()
        at, of = self.address, number // 2 * 2 if self.is_complex else number
        for _, extent, stride in self.dimensions:
            at, of = at + of % extent * stride, of // extent
        value = gdb.Value(at).cast(self.leaf.pointer()).dereference()
        return str(value.format_string())


def located(text: str, value: Any, path: str = "") -> Array | None:
    """The array that TEXT, with value VALUE, names; None: it is a single value.

    PATH: a member of each element, `.pos[0]`.  Raises gdb.error, NoArray for a structure.
    """
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return located(text, value.referenced_value(), path)
    spoken = elements.language(text)
    if referred(kind, spoken):
        return located(text, value.dereference(), path)
    if kind.code in _STRUCTURES:
        return _container(text, value, spoken, path)
    if kind.code != gdb.TYPE_CODE_ARRAY:
        return None
    found = _array(text, value, spoken, path)
    _name_as_written(found, text)
    return found


def referred(kind: Any, spoken: str) -> bool:
    """Is it a Rust reference, which is a pointer to GDB?"""
    if spoken != "rust" or kind.code != gdb.TYPE_CODE_PTR:
        return False
    return kind.target().strip_typedefs().code in (*_STRUCTURES, gdb.TYPE_CODE_ARRAY)


def _array(text: str, value: Any, spoken: str, path: str) -> Array:
    if value.is_optimized_out:
        raise gdb.error(f"{text} is optimized out here.")
    if value.address is None:
        raise gdb.error(f"{text} is not in memory.")
    dimensions: list[tuple[int, int, int]] = []
    one = value
    while one.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
        kind = one.type.strip_typedefs()
        low, high = kind.range()
        if elements.is_open(kind):
            _need_target(text, value, spoken)
            count = elements.element(spoken, [low]) + "@N"
            raise gdb.error(f"nothing says here where {text} ends; write {text}{count}.")
        extent = high - low + 1
        if extent < 1:
            _need_target(text, value, spoken)
            dimensions.append((low, 0, 0))
            return Array(0, _REALS[8], dimensions[::-1], text, spoken)
        first = one[low]
        stride = int(one[low + 1].address) - int(first.address) if extent > 1 else 0
        dimensions.append((low, extent, stride))
        one = first
    if not int(one.address):
        _need_target(text, value, spoken)
    leaf = one.type.strip_typedefs()
    array = Array(int(one.address), 0, dimensions[::-1], text, spoken, leaf=leaf)
    if leaf.code in _STRUCTURES and (path or _fixed_size(leaf)):
        inner = _member(text, leaf, path, spoken) if path else _container("", one, spoken, "")
        assert inner is not None
        array.kind, array.leaf, array.is_complex = inner.kind, inner.leaf, inner.is_complex
        array.address += inner.address if path else 0
        array.dimensions = inner.dimensions + array.dimensions
        array.member = inner if path else None
        return array
    if path:
        raise gdb.error(f"the elements of {text} have no members: {leaf}.")
    array.be_of(leaf, text)
    return array


def _need_target(text: str, value: Any, spoken: str) -> None:
    said = absent.of(value) if spoken == "fortran" else ""
    if said:
        raise gdb.MemoryError(f"{text} is {said}.")


def _member(text: str, kind: Any, path: str, spoken: str) -> Array:
    """Member PATH of an element, as if the element were at address 0."""
    gdb.set_convenience_variable("_rdb_each", gdb.Value(0).cast(kind.pointer()))
    away = f"{path} does not lie in the elements of {text} themselves."
    try:
        within = _within(_inherited(path, kind) if spoken == "fortran" else path)
        if not within:
            raise gdb.error(away)
        value = symbols.evaluated(reserved.for_gdb(within))
        found = located(within, value)
        if found is None:
            leaf = value.type.strip_typedefs()
            found = Array(int(value.address), 0, [], path, spoken, leaf=leaf)
            found.be_of(leaf, text + path)
    except gdb.MemoryError:
        raise gdb.error(away) from None
    if found.nodes or not 0 <= found.address < kind.sizeof:
        raise gdb.error(away)
    if is_of_bits(kind, path):
        raise gdb.error(f"{path} of {text} is a bit-field.")
    found.base = re.sub(rf"{re.escape(_EACH)}|\.({'|'.join(elements.STD_ARRAY)})", "", found.base)
    found.spoken = spoken
    return found


def _inherited(path: str, kind: Any) -> str:
    """PATH with the parents of an inherited component: `inherited.in_full` does not know the type
    of the elements of an array of `class(...)`."""
    first = re.match(r"\s*%\s*(\w+)", path)
    between = inherited.path_to(kind, first[1].lower()) if first else None
    return "".join(f"%{one}" for one in between or ()) + path


def _within(path: str) -> str:
    """PATH of an element in a form that calls no operator of the program; empty: impossible."""
    said = _EACH
    for part in re.split(r"(?=\[)", path):
        kind = symbols.evaluated(said).type.strip_typedefs()
        if part.startswith("[") and kind.code in _STRUCTURES:
            names = [one.name for one in kind.fields() if one.name in elements.STD_ARRAY]
            if not names:
                return ""
            said += f".{names[0]}"
        said += part
    return said


def is_of_bits(kind: Any, path: str) -> bool:
    """Is the last member of PATH a bit field?"""
    name = re.search(r"(\w+)\s*$", path)
    fields = [one for one in kind.fields() if name and hasattr(one, "bitpos")]
    return any(one.name == name[1] and one.bitsize for one in fields if name) or any(
        is_of_bits(one.type.strip_typedefs(), path)
        for one in fields
        if one.type.strip_typedefs().code in _STRUCTURES
    )


def _fixed_size(kind: Any) -> bool:
    return any(one.name in elements.STD_ARRAY for one in kind.fields())


def kind_of(kind: Any, text: str) -> int:
    code, size = kind.code, kind.sizeof
    if code == gdb.TYPE_CODE_COMPLEX:
        code, size = gdb.TYPE_CODE_FLT, size // 2
    if code == gdb.TYPE_CODE_RANGE:
        return kind_of(kind.target().strip_typedefs(), text)
    if code == gdb.TYPE_CODE_FLT and size in _REALS and "128" not in str(kind):
        return _REALS[size]
    if code == gdb.TYPE_CODE_PTR:
        return _KINDS[False, 8]
    if code in _WHOLE and size in (1, 2, 4, 8):
        least = gdb.Value(b"\xff" * size, kind).cast(_wider(kind)) if size else 0
        return _KINDS[int(least) < 0 and code != gdb.TYPE_CODE_BOOL, size]
    raise gdb.error(f"the elements of {text} are not numbers: {kind}.")


def _wider(kind: Any) -> Any:
    return gdb.lookup_type("long") if kind.sizeof < 8 else kind


def _container(text: str, value: Any, spoken: str, path: str) -> Array | None:
    kind = value.type.strip_typedefs()
    found_bits = bits(value)
    if found_bits is not None:
        dimensions = [(0, found_bits.count, 0)]
        kind_of_one = _KINDS[False, 1]
        return Array(found_bits.address, kind_of_one, dimensions, text, spoken, bits=found_bits)
    for one in kind.fields():
        if one.name in elements.STD_ARRAY:
            return located(text, value[one], path)
    if {one.name for one in kind.fields()} == {"P_ARRAY", "P_BOUNDS"}:
        return located(text, _of_ada(value), path)
    for first, end in _PIECES:
        start, last = elements.inner(value, first), elements.inner(value, end)
        if last is None and re.match(r"std::(\w+::)*span<", kind.name or ""):
            last = kind.template_argument(1)  # the number of elements is part of the type
        if start is None or last is None or start.type.strip_typedefs().code != gdb.TYPE_CODE_PTR:
            continue
        size = start.type.strip_typedefs().target().sizeof
        is_pointer = last.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        count = (int(last) - int(start)) // size if is_pointer else int(last)
        if count == 0:
            return _none(text, spoken)
        if count < 0:
            raise gdb.error(f"the number of elements of {text} is not known")
        pointer = start.type.strip_typedefs().target().array(count - 1).pointer()
        return _array(text, start.cast(pointer).dereference(), spoken, path)
    buffer = _buffer(text, value)
    if isinstance(buffer, Nodes):
        return Array.of_nodes(text, buffer, spoken, path)
    if buffer is not None:
        return _array(text, buffer, spoken, path) if buffer.type.sizeof else _none(text, spoken)
    found = nodes(value)
    if found is not None:
        return Array.of_nodes(text, found, spoken, path)
    if _ADAPTER.match(kind.name or ""):
        return located(text, value["c"], path)
    if elements.is_container(value):
        raise gdb.error(f"{text}: rdb does not know where a {kind.name} keeps its elements.")
    raise NoArray(f"{text} is neither an array nor a container: name one of its members.")


def _of_ada(value: Any) -> Any:
    """An Ada array of an unconstrained type: a pointer to it, and one to its bounds."""
    kind, bounds = value["P_ARRAY"].type.target(), value["P_BOUNDS"].dereference()
    while kind.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
        kind = kind.strip_typedefs().target()
    for number in reversed(range(len(bounds.type.fields()) // 2)):
        kind = kind.array(*(int(bounds[f"{end}B{number}"]) for end in "LU"))
    return gdb.Value(int(value["P_ARRAY"])).cast(kind.pointer()).dereference()


def _none(text: str, spoken: str) -> Array:
    return Array(0, _REALS[8], [(0, 0, 0)], text, spoken)


def _buffer(text: str, value: Any) -> Any:
    """The elements of Rust's Vec and VecDeque, in one or two pieces; None: it is neither."""
    kind = value.type.strip_typedefs()
    if not OF_RUST.match(kind.name or ""):
        return None
    start = start_in_rust(value)
    head, count = elements.inner(value, "head"), int(value["len"])
    of = kind.template_argument(0)
    first = gdb.Value(start + (0 if head is None else int(head)) * of.sizeof)
    if head is not None and int(head) + count > capacity(value):
        return ring(start, capacity(value), int(head), count, of)
    if count == 0:
        return gdb.Value(b"", of.array(0, -1))
    return first.cast(of.array(count - 1).pointer()).dereference()


def start_in_rust(value: Any) -> int:
    """Where a Vec or VecDeque has its memory."""
    starts = [elements.inner(value, f"buf.{way}.pointer.pointer") for way in ("inner.ptr", "ptr")]
    start = next((one for one in starts if one is not None), None)
    if start is None:
        raise gdb.error(f"rdb does not know where a {value.type} keeps its elements.")
    return int(start)


def capacity(value: Any) -> int:
    ways = ("buf.inner.cap.__0", "buf.cap.__0", "buf.inner.cap", "buf.cap")
    return int(next(one for one in (elements.inner(value, way) for way in ways) if one is not None))


def _name_as_written(array: Array, text: str) -> None:
    """Sets names of elements of `a` and `p` for `a(1:5:2, 3)` and `p[3]@100`."""
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
    offset = len(array.member.dimensions) if array.member else int(array.is_complex)
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
