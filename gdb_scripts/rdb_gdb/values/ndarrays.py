"""The layout of numpy arrays in memory: PyArrayObject_fields of numpy 1 and 2."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import gdb

from .arrays import Array
from .cpython import Unreadable, Unsuited
from .pyobjects import Object

# Number of the type (NPY_TYPES) -> the agent's number, size in bytes, format for struct.
_TYPES = {
    0: (2, 1, "?"), 1: (1, 1, "b"), 2: (2, 1, "B"), 3: (3, 2, "h"), 4: (4, 2, "H"),
    5: (5, 4, "i"), 6: (6, 4, "I"), 7: (7, 8, "q"), 8: (8, 8, "Q"), 9: (7, 8, "q"),
    10: (8, 8, "Q"), 11: (9, 4, "f"), 12: (10, 8, "d"), 13: (11, 16, ""), 14: (9, 4, "f"),
    15: (10, 8, "d"), 16: (11, 16, ""), 23: (12, 2, "e"),
}  # fmt: skip
_COMPLEX = (14, 15, 16)
_VOID = 20  # a structured type
_AXES = 64  # numpy's limit


@dataclass
class View:
    """An array or a part of one; AXES: (lowest index, extent, stride in bytes, step of indices)."""

    address: int
    type_number: int
    axes: list[tuple[int, int, int, int]]
    base: str
    fixed: dict[int, str] = field(default_factory=dict)  # axis -> constant index

    def at(self, indices: list[int | slice], base: str) -> View:
        """The part with these indices, whose elements are named as elements of BASE."""
        if len(indices) > len(self.axes):
            raise Unreadable(f"{base} has {len(self.axes)} dimensions")
        found = View(self.address, self.type_number, [], base)
        for place, (_, extent, stride, _) in enumerate(self.axes):
            index = indices[place] if place < len(indices) else slice(None)
            if isinstance(index, int):
                if not -extent <= index < extent:
                    raise Unreadable(f"{index} is outside of axis {place} of {base}")
                found.address += index % extent * stride
                found.fixed[place] = str(index % extent)
                continue
            first, last, step = index.indices(extent)
            found.address += first * stride
            count = len(range(first, last, step))
            found.axes.append((first, count, stride * step, step))
        return found

    @property
    def span(self) -> tuple[int, int]:
        """(address, length) of the first element."""
        return self.address, _TYPES[self.type_number][1]

    def array(self) -> NumpyArray | int | float:
        """The array as an Array; a view of a single element as a number.  Raises Unreadable."""
        kind, size, code = _TYPES[self.type_number]
        if not self.axes and code and self.type_number not in _COMPLEX:
            raw = bytes(gdb.selected_inferior().read_memory(self.address, size))
            number: int | float = struct.unpack(f"<{code}", raw)[0]
            return number
        if not self.axes:
            raise Unreadable(f"one element of {self.base}, which is not a Python number")
        axes = self.axes[::-1]
        written = len(self.axes) + len(self.fixed)
        found = NumpyArray(
            self.address,
            kind,
            [axis[:3] for axis in axes],
            self.base,
            "python",
            steps=[axis[3] for axis in axes],
            fixed={written - 1 - place: index for place, index in self.fixed.items()},
            type_number=self.type_number,
        )
        if self.type_number in _COMPLEX:
            found.is_complex = True
            found.dimensions.insert(0, (0, 2, size))
        return found


@dataclass
class NumpyArray(Array):
    type_number: int = 0

    @property
    def is_truth(self) -> bool:
        return self.type_number == 0

    def shown(self, number: int, node: int) -> str:
        if self.of is not None:
            return self.of.shown(2 * number, node)
        _, size, code = _TYPES[self.type_number]
        at, of = self.address, number
        for _, extent, stride in self.dimensions:
            at, of = at + of % extent * stride, of // extent
        at -= number % 2 * size if self.is_complex else 0
        if not code:
            kind = gdb.lookup_type("long double").pointer()
            parts = [gdb.Value(at + n * size).cast(kind).dereference() for n in range(2)]
            return " + i ".join(str(one) for one in parts[: 1 + self.is_complex])
        raw = bytes(gdb.selected_inferior().read_memory(at, size * (1 + self.is_complex)))
        found = struct.unpack(f"<{len(raw) // size}{code}", raw)
        return str(complex(*found) if self.is_complex else found[0])


def view(found: Object, text: str) -> View | None:
    """The view of a numpy array; None: it is none.  Raises Unreadable, Unsuited."""
    if not found.is_a("numpy.ndarray"):
        return None
    if found.is_a("MaskedArray"):
        raise Unreadable(f"{text} is a masked array: its mask is {text}._mask")
    read, at = found.read, found.address
    count = read.number(at + 24)
    description = read.word(at + 56)
    number, order = read.number(description + 28), read.read(description + 26, 1)
    if not 0 <= count <= _AXES:
        raise Unreadable(f"{text} is not consistent here")
    if number not in _TYPES:
        kind = read.chars(read.word(read.word(description + 16) + 24))
        if number == _VOID:
            raise Unsuited(
                f"the elements of {text} have fields, which rdb does not read: "
                f"give one a name in the program, as in rho = {text}['rho'], and write rho"
            )
        raise Unsuited(f"the elements of {text} are not numbers: {kind}")
    if order == b">":
        raise Unreadable(f"the elements of {text} are not in the machine's byte order")
    extents = [read.number(read.word(at + 32) + 8 * n, 8) for n in range(count)]
    strides = [read.number(read.word(at + 40) + 8 * n, 8) for n in range(count)]
    axes = [(0, extent, stride, 1) for extent, stride in zip(extents, strides)]
    return View(read.word(at + 16), number, axes, text)


def part(of: View, name: str, text: str) -> View:
    """The attribute `.T`, `.real` or `.imag` of an array.  Raises Unreadable for others."""
    size = _TYPES[of.type_number][1]
    if name == "T":
        return View(of.address, of.type_number, of.axes[::-1], text)
    if name in ("real", "imag") and of.type_number in _COMPLEX:
        address = of.address + (size if name == "imag" else 0)
        return View(address, of.type_number - 3, of.axes, text)
    if name == "real":
        return View(of.address, of.type_number, of.axes, text)
    raise Unreadable(f"{name} of an array cannot be read: numpy's code computes it")
