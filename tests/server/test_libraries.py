"""The fingerprint of the list of loaded libraries, on a list in made memory."""

from __future__ import annotations

import struct

from rdb.server.libraries import Libraries

PHDR = struct.Struct("<IIQQQQQQ")
AUXV = struct.pack("<6Q", 3, 0x1000, 5, 2, 0, 0)  # AT_PHDR, AT_PHNUM, AT_NULL
MEMORY = {
    0x1000: PHDR.pack(6, 4, 0, 0x1000, 0, 112, 112, 8) + PHDR.pack(2, 4, 0, 0x2000, 0, 32, 32, 8),
    0x2000: struct.pack("<4Q", 21, 0x3000, 0, 0),  # DT_DEBUG, DT_NULL
    0x3000: struct.pack("<QQ", 1, 0x4000),  # r_debug: version, first entry
    0x4000: struct.pack("<5Q", 0, 0x9000, 0x2000, 0x5000, 0),
    0x5000: struct.pack("<5Q", 0x7000000, 0x9010, 0x6000, 0, 0x4000),
}


def test_the_list_is_read_once_in_each_state() -> None:
    memory = dict(MEMORY)
    asked: list[int] = []

    def read(addr: int, length: int) -> bytes:
        asked.append(addr)
        page = addr & ~0xFFF
        data = memory[page]
        return data.ljust(4096, b"\0")[addr - page : addr - page + length]

    libraries = Libraries(read, AUXV)
    asked.clear()
    first = libraries.fingerprint(1)
    assert first and asked == [0x3000, 0x4000, 0x5000]
    memory[0x4000] = struct.pack("<5Q", 0, 0x9000, 0x2000, 0, 0)
    assert libraries.fingerprint(1) == first and len(asked) == 3
    assert libraries.fingerprint(2) not in (0, first) and len(asked) == 5


def test_entries_on_one_page_are_read_at_once() -> None:
    """A seek asks the replica for the list: for 70 libraries not 70 times."""
    entries = [0x4000 + 40 * index for index in range(70)] + [0]
    chain = b"".join(struct.pack("<5Q", 0, 0x9000, 0, following, 0) for following in entries[1:])
    asked: list[int] = []

    def read(addr: int, length: int) -> bytes:
        asked.append(addr)
        page = addr & ~0xFFF
        data = {**MEMORY, 0x4000: chain}[page]
        return data.ljust(4096, b"\0")[addr - page : addr - page + length]

    libraries = Libraries(read, AUXV)
    asked.clear()
    assert libraries.fingerprint(1) and asked == [0x3000, 0x4000]
