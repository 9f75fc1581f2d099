"""Objects of CPython in the program's memory: numbers, dicts, attributes, items."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .cpython import Interpreter, Unreadable, Unsuited, noticed

_LONG, _LIST, _TUPLE, _STR, _DICT, _TYPE = (1 << bit for bit in (24, 25, 26, 28, 29, 31))
_MANAGED_DICT, _INLINE_VALUES = 1 << 4, 1 << 2
_CODE = ("module", "function", "builtin_function_or_method", "method", "numpy.ufunc")
_SPLIT = 2  # dk_kind: DICT_KEYS_SPLIT; 0: keys that are not all str
_SCALARS = {
    "numpy.bool": "?", "numpy.bool_": "?", "numpy.int8": "b", "numpy.uint8": "B",
    "numpy.int16": "h", "numpy.uint16": "H", "numpy.int32": "i", "numpy.uint32": "I",
    "numpy.int64": "q", "numpy.uint64": "Q", "numpy.longlong": "q", "numpy.ulonglong": "Q",
    "numpy.float16": "e", "numpy.float32": "f", "numpy.float64": "d", "float": "d",
    "numpy.complex64": "ff", "numpy.complex128": "dd", "complex": "dd",
}  # fmt: skip
# Types with a length -> its offset in the object.
_LENGTHS = {
    "str": 16, "bytes": 16, "list": 16, "tuple": 16, "dict": 16, "bytearray": 16, "array.array": 16,
    "collections.deque": 16, "set": 24, "frozenset": 24,
}  # fmt: skip
_MOST = 1_000_000  # entries of a dict, characters of a text
_OF_BLOCK = 64  # items of a deque
_MOST_DIGITS = 1 << 12  # of 30 bits


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
        """Is it of the class with that tp_name, or of a derived one?"""
        return name in self._classes()

    def _classes(self) -> Iterator[str]:
        kind = self.type
        while kind:
            yield self.read.chars(self.read.word(kind + 24))
            kind = self.read.word(kind + 256)

    def _is(self, flag: int) -> bool:
        return bool(self._flags & flag)

    def number(self) -> int | float | complex | None:
        """The number; None: it is none."""
        if self._is(_LONG):
            return self._long()
        code = next((_SCALARS[one] for one in self._classes() if one in _SCALARS), None)
        if code is None:
            return None
        raw = self.read.read(self.address + 16, struct.calcsize(code))
        found = struct.unpack(f"<{code}", raw)
        return complex(*found) if len(found) == 2 else found[0]

    def text(self) -> str | None:
        """The text of a str; None: it is none.  Raises Unreadable."""
        if not self._is(_STR):
            return None
        found = self.read.whole_text(self.address, _MOST)
        if found is None:
            raise Unreadable("a string in a form that rdb cannot read")
        return found

    def length(self) -> int | None:
        """The length; None: it is not stored in the object."""
        at = next((_LENGTHS[one] for one in self._classes() if one in _LENGTHS), None)
        return None if at is None else self.read.number(self.address + at, 8)

    @property
    def equals_itself_alone(self) -> bool:
        """Has its class only the __eq__ (tp_richcompare) of object?"""
        root = self.type
        while base := self.read.word(root + 256):
            root = base
        return self.read.word(self.type + 200) == self.read.word(root + 200)

    @property
    def is_code(self) -> bool:
        """Is it code?  A variable with such a value seldom gets another."""
        return self._is(_TYPE) or self.type_name in _CODE

    def is_fixed(self) -> bool:
        """Is it a number, a str or None?  Different variables may share such an object."""
        return self._is(_LONG | _STR) or self.type_name == "NoneType" or self.number() is not None

    def described(self, text: str) -> str:
        """A description with hints: `a list of 3 items: a[0], len(a)`; TEXT: its name."""
        if self.type_name == "module":
            return f"a module: write {text}.NAME"
        if self.is_code:
            kind = "class" if self._is(_TYPE) else self.type_name
            return f"a {kind}, not a number"
        length = self.length()
        if length is not None:
            item = f"{text}['KEY']" if self._is(_DICT) else f"{text}[0]"
            item = f"{item}, " if self._is(_DICT | _LIST | _TUPLE) else ""
            return f"a {self.type_name} of {length} items: write {item}len({text})"
        return f"a {self.type_name}, not a number: write {text}.NAME"

    def _long(self) -> int:
        size = self.read.word(self.address + 16)
        if self.read.layout.signed_size:
            count = size - (1 << 64) if size >> 63 else size
            digits, negative = abs(count), count < 0
        else:
            digits, negative = size >> 3, size & 3 == 2
        if digits > _MOST_DIGITS:
            raise Unreadable("an int that is too large for rdb")
        raw = self.read.read(self.address + 24, 4 * digits)
        found: int = sum(one << 30 * at for at, (one,) in enumerate(struct.iter_unpack("<I", raw)))
        return -found if negative else found

    def item(self, key: int | str) -> int:
        """Address of an item of a list, tuple, dict or deque.  Raises Unreadable, Unsuited."""
        if self._is(_DICT):
            found = self.entry(key)
            if not found:
                raise Unreadable(f"it has no key {key!r}")
            return found
        is_deque = self.type_name == "collections.deque"
        if not (is_deque or self._is(_LIST | _TUPLE)) or isinstance(key, str):
            raise Unsuited(f"rdb does not know the items of a {self.type_name}")
        count = self.read.word(self.address + 16)
        if not -count <= key < count:
            raise Unreadable(f"it has {count} items")
        if is_deque:
            return self._item_of_deque(key % count)
        start = self.address + 24
        start = self.read.word(start) if self._is(_LIST) else start
        return self.read.referred(start + 8 * (key % count))

    def _item_of_deque(self, number: int) -> int:
        """A deque is a list of blocks: link, items, link."""
        block = self.read.word(self.address + 24)
        skipped, place = divmod(self.read.word(self.address + 40) + number, _OF_BLOCK)
        for _ in range(skipped):
            block = self.read.word(block + 8 + 8 * _OF_BLOCK)
        return self.read.referred(block + 8 + 8 * place)

    def entry(self, key: int | str) -> int:
        """Address of the value of a key of a dict; 0: it has no such key."""
        if not self._is(_DICT):
            raise Unreadable("Python's objects are not consistent here")
        keys, values = self.read.word(self.address + 32), self.read.word(self.address + 40)
        return self._in(keys, values, key)

    def _in(self, keys: int, values: int, wanted: int | str) -> int:
        before = len(noticed.needed)
        for place, at in enumerate(self._entries(keys)):
            key = self.read.word(at)
            if key and self._same(key, wanted):
                # Keys are unique, so the result does not depend on the other keys.
                noticed.back_to(before)
                self._same(self.read.word(at), wanted)
                if values:
                    at = values + self.read.layout.values + 8 * place - 8
                return self.read.referred(at + 8)
        return 0

    def _entries(self, keys: int) -> Iterator[int]:
        """Addresses of the keys; the value follows its key."""
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
        """Address of an attribute, found without running code of the program.  Raises Unsuited."""
        found = self._own_attribute(name)
        if found:
            return found
        for kind in self.read.many(self.read.word(self.type + 344)):
            members = self.read.word(kind + 264)
            found = Object(self.read, members).entry(name) if members else 0
            if found:
                return self._through(found, name)
        raise Unsuited(f"a {self.type_name} has no attribute {name} in memory")

    def _through(self, found: int, name: str) -> int:
        """The attribute for what the class has under the name, which may be a descriptor."""
        one = Object(self.read, found)
        if one.type_name == "member_descriptor":  # __slots__
            member = self.read.word(found + 40)
            value = self.read.referred(self.address + self.read.word(member + 16))
            if not value:
                raise Unreadable(f"{name} has no value yet")
            return value
        if one.type_name in ("property", "function", "getset_descriptor", "cached_property"):
            raise Unsuited(f"{name} cannot be read: the program's own code computes it")
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
        """Address of an instance's dict, or of its inline values; 0 for the other."""
        read, at = self.read, self.address - 24
        found = read.word(at)
        if read.version == (3, 11):
            return found, read.word(at - 8)
        if read.version == (3, 12):
            return (0, found + 1) if found & 1 else (found, 0)
        inline = self.address + read.word(self.type + 32)
        valid = self._is(_INLINE_VALUES) and read.read(inline + 3, 1)[0]
        return found, inline if valid else 0
