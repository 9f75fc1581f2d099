"""Addresses of thread-local variables, which a native GDB gets from libthread_db.

The C library exports the layout of its structures (`_thread_db_*`, from glibc 2.34 on in libc.so.6)
as three 32-bit words each: bits, elements, offset.  Module numbers and offsets are as in Drepper's
"ELF Handling For Thread-Local Storage", variant II: static blocks are below the thread pointer, the
addresses of the others are in the thread's dtv, an array.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from rdb.errors import RdbError

_DT_NULL, _DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH = 0, 5, 6, 0x6FFFFEF5
_SYMBOL = 24  # bytes of an Elf64_Sym
_UNALLOCATED = (1 << 64) - 1
_FORCED_DYNAMIC = (1 << 64) - 1  # l_tls_offset; 0: no offset was assigned
_MAPS_MAX = 4096  # entries; the list may be damaged
_SLOTS_MAX = 1 << 16


class ThreadStorage:
    """Reads a process by `read(address, length)`, which may return fewer bytes."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self._libraries: list[_Symbols] = []

    def address(self, thread_pointer: int, link_map: int) -> int:
        """Address of the module's block in the thread; link map 0: a static program.

        Raises RdbError if the thread has no block of it yet, or if the C library does not tell.
        """
        dtv = self._word(thread_pointer + 8)
        if link_map == 0:
            return self._block(dtv, 1)
        self._libraries = list(self._loaded(link_map))
        module = self._word(link_map + self._offset("link_map_l_tls_modid"))
        if module == 0:
            raise RdbError("this library has no thread-local variables")
        offset = self._word(link_map + self._offset("link_map_l_tls_offset"))
        if offset not in (0, _FORCED_DYNAMIC):
            return thread_pointer - offset
        if self._word(dtv) < self._generation(module):
            raise RdbError("the thread has not used the library's variables yet")
        return self._block(dtv, module)

    def _block(self, dtv: int, module: int) -> int:
        if module > self._word(dtv - 16):  # number of entries
            raise RdbError("the thread has not used the library's variables yet")
        block = self._word(dtv + 16 * module)
        if block == _UNALLOCATED:
            raise RdbError("the thread has not used the library's variables yet")
        return block

    def _generation(self, module: int) -> int:
        """Generation of the module list in which the module got its number."""
        found = self._symbol("_rtld_global")
        place = self._word(found + self._offset("rtld_global__dl_tls_dtv_slotinfo_list"))
        size = self._size("sizeof_dtv_slotinfo")
        for _ in range(_MAPS_MAX):
            if place == 0:
                break
            length = self._word(place + self._offset("dtv_slotinfo_list_len"))
            if module < length <= _SLOTS_MAX:
                slots = place + self._offset("dtv_slotinfo_list_slotinfo")
                return self._word(slots + size * module + self._offset("dtv_slotinfo_gen"))
            module -= length
            place = self._word(place + self._offset("dtv_slotinfo_list_next"))
        raise RdbError("the module is not in the dynamic linker's list")

    def _offset(self, name: str) -> int:
        _, _, offset = struct.unpack("<III", self._exact(self._symbol(f"_thread_db_{name}"), 12))
        return int(offset)

    def _size(self, name: str) -> int:
        """Size of a structure, which is described by one word."""
        return int.from_bytes(self._exact(self._symbol(f"_thread_db_{name}"), 4), "little")

    def _symbol(self, name: str) -> int:
        for library in self._libraries:
            found = library.find(name)
            if found is not None:
                return found
        raise RdbError(
            f"the C library does not say where thread-local variables are (no {name})",
            "run the program with glibc 2.34 or newer",
        )

    def _loaded(self, link_map: int) -> Iterator[_Symbols]:
        """The C library and the dynamic linker, from any entry of the list of loaded files."""
        for _ in range(_MAPS_MAX):
            before = self._word(link_map + 32)
            if before == 0:
                break
            link_map = before
        for _ in range(_MAPS_MAX):
            if link_map == 0:
                break
            base, name, dynamic, following, _ = struct.unpack("<5Q", self._exact(link_map, 40))
            file = self._text(name).rpartition(b"/")[2]
            if file.startswith((b"libc.so", b"ld-linux", b"libpthread.so")):
                yield _Symbols(self, base, dynamic)
            link_map = following

    def _text(self, addr: int) -> bytes:
        return self._read(addr, 4096).partition(b"\0")[0] if addr else b""

    def _word(self, addr: int) -> int:
        return int.from_bytes(self._exact(addr, 8), "little")

    def _exact(self, addr: int, length: int) -> bytes:
        data = self._read(addr % (1 << 64), length)
        if len(data) < length:
            raise RdbError(f"no memory at {addr:#x}")
        return data


class _Symbols:
    """The dynamic symbols of one loaded file, found by its hash table (DT_GNU_HASH)."""

    def __init__(self, of: ThreadStorage, base: int, dynamic: int) -> None:
        self._of = of
        self._base = base
        tables: dict[int, int] = {}
        for _ in range(_MAPS_MAX):
            tag, value = struct.unpack("<2Q", of._exact(dynamic, 16))
            if tag == _DT_NULL:
                break
            tables[tag] = value
            dynamic += 16
        found = [tables.get(tag, 0) for tag in (_DT_STRTAB, _DT_SYMTAB, _DT_GNU_HASH)]
        # ld.so relocates these entries, but not in files with a read-only dynamic section.
        found = [one + base if 0 < one < base else one for one in found]
        self._strings, self._symbols, self._hash = found

    def find(self, name: str) -> int | None:
        if not (self._strings and self._symbols and self._hash):
            return None
        of, hashed = self._of, _gnu_hash(name)
        buckets, first, filters, _ = struct.unpack("<4I", of._exact(self._hash, 16))
        if not buckets:  # damaged
            return None
        table = self._hash + 16 + 8 * filters
        (index,) = struct.unpack("<I", of._exact(table + 4 * (hashed % buckets), 4))
        while index >= first:
            (one,) = struct.unpack("<I", of._exact(table + 4 * (buckets + index - first), 4))
            if one | 1 == hashed | 1:
                text, _, value = struct.unpack(
                    "<IIQ", of._exact(self._symbols + _SYMBOL * index, 16)
                )
                if of._text(self._strings + text) == name.encode():
                    return int(self._base + value)
            if one & 1:
                break
            index += 1
        return None


def _gnu_hash(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value
