"""The dynamic linker's list of loaded files, which dlopen(3) and dlclose(3) change.

GDB reads the list at a breakpoint in the linker.  A seek does not stop there, so we tell GDB when
the list has changed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from rdb.server.pages import Pages

_AT_PHDR, _AT_PHNUM = 3, 5
_PT_DYNAMIC, _PT_PHDR = 2, 6
_DT_NULL, _DT_DEBUG = 0, 21
_PHDR, _DYN, _LINK = struct.Struct("<IIQQQQQQ"), struct.Struct("<QQ"), struct.Struct("<5Q")
_MAX = 4096  # entries of a list that may be damaged

Read = Callable[[int, int], bytes]


class Libraries:
    def __init__(self, read: Read, auxv: bytes) -> None:
        self._read = read
        self._pages = Pages(read)
        self._known: tuple[int, int] | None = None  # serial and hash of the last state asked for
        self._debug = self._find(dict(_DYN.iter_unpack(auxv[: len(auxv) // 16 * 16])))

    def fingerprint(self, serial: int) -> int:
        """A hash of the list in the present state, which has the number SERIAL; 0 for a static
        program."""
        if self._known is None or self._known[0] != serial:
            self._known = serial, self._hash(serial)
        return self._known[1]

    def _hash(self, serial: int) -> int:
        entries: list[tuple[int, ...]] = []
        place = 0
        if self._debug:
            place = int.from_bytes(self._pages.read(serial, self._debug + 8, 8), "little")
        while place and len(entries) < _MAX:
            data = self._pages.read(serial, place, _LINK.size)
            if len(data) < _LINK.size:
                break
            base, name, _, following, _ = _LINK.unpack(data)
            entries.append((place, base, name))
            place = following
        return hash(tuple(entries)) if entries else 0

    def _find(self, auxv: dict[int, int]) -> int:
        """Address of r_debug (link.h), which ld.so has put into the program's DT_DEBUG; 0: none."""
        start, count = auxv.get(_AT_PHDR, 0), min(auxv.get(_AT_PHNUM, 0), _MAX)
        headers = self._read(start, _PHDR.size * count) if start and count else b""
        base, dynamic = 0, 0
        for kind, _, _, address, *_ in _PHDR.iter_unpack(
            headers[: len(headers) // _PHDR.size * _PHDR.size]
        ):
            if kind == _PT_PHDR:
                base = start - address
            elif kind == _PT_DYNAMIC:
                dynamic = address
        if not dynamic:
            return 0
        for index in range(_MAX):
            data = self._read(base + dynamic + _DYN.size * index, _DYN.size)
            tag, value = _DYN.unpack(data) if len(data) == _DYN.size else (_DT_NULL, 0)
            if tag == _DT_DEBUG:
                return int(value)
            if tag == _DT_NULL:
                break
        return 0
