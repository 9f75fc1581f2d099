"""Objects of CPython in the program's memory: numbers, dicts, attributes, items."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .cpython import Interpreter, Unreadable, noticed

_LONG, _LIST, _TUPLE, _STR, _DICT, _TYPE = (1 << bit for bit in (24, 25, 26, 28, 29, 31))
_MANAGED_DICT, _INLINE_VALUES = 1 << 4, 1 << 2
_SPLIT = 2  # dk_kind: DICT_KEYS_SPLIT; 0: keys that are not all str
_SCALARS = {
    "numpy.bool": "?", "numpy.bool_": "?", "numpy.int8": "b", "numpy.uint8": "B",
    "numpy.int16": "h", "numpy.uint16": "H", "numpy.int32": "i", "numpy.uint32": "I",
    "numpy.int64": "q", "numpy.uint64": "Q", "numpy.longlong": "q", "numpy.ulonglong": "Q",
    "numpy.float16": "e", "numpy.float32": "f", "numpy.float64": "d", "float": "d",
}  # fmt: skip
_MOST = 1_000_000  # entries of a dict


class Object:
    def __init__(self, interpreter: Interpreter, address: int) -> None:
        self.read = interpreter
        self.address = address
        self.type = interpreter.word(address + 8)
        self._flags = interpreter.word(self.type + 168)

    @property
    def type_name(self) -> str:
        return self.read.chars(self.read.word(self.type + 24))

    def is_a(self, name: str) -> bool:
        """Of the class that calls itself so in C, or of one that derives from it."""
        kind = self.type
        while kind:
            if self.read.chars(self.read.word(kind + 24)) == name:
                return True
            kind = self.read.word(kind + 256)
        return False

    def _is(self, flag: int) -> bool:
        return bool(self._flags & flag)

    def number(self) -> int | float | None:
        """None: it is none."""
        if self._is(_LONG):
            return self._long()
        code = _SCALARS.get(self.type_name)
        if code is None:
            return None
        raw = self.read.read(self.address + 16, struct.calcsize(code))
        found: int | float = struct.unpack(f"<{code}", raw)[0]
        return found

    def _long(self) -> int:
        size = self.read.word(self.address + 16)
        if self.read.layout.signed_size:
            count = size - (1 << 64) if size >> 63 else size
            digits, negative = abs(count), count < 0
        else:
            digits, negative = size >> 3, size & 3 == 2
        if digits > 40:
            raise Unreadable("an int of more than 1200 bits")
        parts = (self.read.number(self.address + 24 + 4 * at) << 30 * at for at in range(digits))
        found = sum(parts)
        return -found if negative else found

    def item(self, key: int | str) -> int:
        """Of a list, a tuple, a dict; the object's address."""
        if self._is(_DICT):
            found = self.entry(key)
            if not found:
                raise Unreadable(f"it has no key {key!r}")
            return found
        if not self._is(_LIST | _TUPLE) or isinstance(key, str):
            raise Unreadable(f"rdb does not know the items of a {self.type_name}")
        count = self.read.word(self.address + 16)
        if not -count <= key < count:
            raise Unreadable(f"it has {count} items")
        start = self.address + 24
        start = self.read.word(start) if self._is(_LIST) else start
        return self.read.word(start + 8 * (key % count))

    def entry(self, key: int | str) -> int:
        """Of a dict; 0: it has no such key."""
        if not self._is(_DICT):
            raise Unreadable("Python's objects are not consistent here")
        keys, values = self.read.word(self.address + 32), self.read.word(self.address + 40)
        return self._in(keys, values, key)

    def _in(self, keys: int, values: int, wanted: int | str) -> int:
        before = len(noticed.needed)
        for place, at in enumerate(self._entries(keys)):
            key = self.read.word(at)
            if key and self._same(key, wanted):
                # No other key is the same, so it does not depend on what the others are.
                noticed.back_to(before)
                self._same(self.read.word(at), wanted)
                if values:
                    at = values + self.read.layout.values + 8 * place - 8
                return self.read.word(at + 8)
        return 0

    def _entries(self, keys: int) -> Iterator[int]:
        """Where each has its key, and behind that the value."""
        read = self.read
        count, kind = read.word(keys + 24), read.read(keys + 10, 1)[0]
        if kind > _SPLIT or count > _MOST:
            raise Unreadable("Python's objects are not consistent here")
        start = keys + 32 + (1 << read.read(keys + 9, 1)[0])
        size, first = (16, 0) if kind else (24, 8)
        yield from range(start + first, start + first + size * count, size)

    def _same(self, key: int, wanted: int | str) -> bool:
        one = Object(self.read, key)
        if isinstance(wanted, str):
            return one._is(_STR) and self.read.text(key) == wanted
        return one._is(_LONG) and one._long() == wanted

    def attribute(self, name: str) -> int:
        """The object's address; no code of the program is run for it."""
        found = self._own_attribute(name)
        if found:
            return found
        for kind in self.read.many(self.read.word(self.type + 344)):
            members = self.read.word(kind + 264)
            found = Object(self.read, members).entry(name) if members else 0
            if found:
                return self._through(found, name)
        raise Unreadable(f"a {self.type_name} has no attribute {name} in memory")

    def _through(self, found: int, name: str) -> int:
        """What a class has for the name may be how to come by it."""
        one = Object(self.read, found)
        if one.type_name == "member_descriptor":  # __slots__
            member = self.read.word(found + 40)
            value = self.read.word(self.address + self.read.word(member + 16))
            if not value:
                raise Unreadable(f"{name} has no value yet")
            return value
        if one.type_name in ("property", "function", "getset_descriptor", "cached_property"):
            raise Unreadable(f"{name} is computed by code of the program")
        return found

    def _own_attribute(self, name: str) -> int:
        read = self.read
        if self._is(_TYPE):
            members = read.word(self.address + 264)
            return Object(read, members).entry(name) if members else 0
        if not self._is(_MANAGED_DICT):
            offset = read.number(self.type + 288, 8)
            members = read.word(self.address + offset) if offset > 0 else 0
            return Object(read, members).entry(name) if members else 0
        members, values = self._managed()
        if members:
            return Object(read, members).entry(name)
        if not values:
            return 0
        return self._in(read.word(self.type + read.layout.cached_keys), values, name)

    def _managed(self) -> tuple[int, int]:
        """The dict of an instance, or the values that stand for it."""
        read, at = self.read, self.address - 24
        found = read.word(at)
        if read.version == (3, 11):
            return found, read.word(at - 8)
        if read.version == (3, 12):
            return (0, found + 1) if found & 1 else (found, 0)
        inline = self.address + read.word(self.type + 32)
        valid = self._is(_INLINE_VALUES) and read.read(inline + 3, 1)[0]
        return found, inline if valid else 0
