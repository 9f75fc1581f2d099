"""Names for places in a program's files, from their symbols: `main (heat.c:42)`."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from rdb.recording.symbols.gdb_batch import ask_gdb

_LOAD = 1  # PT_LOAD
_GDB_TIMEOUT_S = 30


def address_of(path: Path, offset: int) -> int | None:
    """The link-time address of an offset of an ELF file; None: it is in no PT_LOAD segment."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:4] != b"\x7fELF":
            return None
        (table,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(table)
        headers = file.read(size * count)
    for at in range(0, len(headers) - 55, size):
        kind, _, start, address, _, stored = struct.unpack_from("<IIQQQQ", headers, at)
        if kind == _LOAD and start <= offset < start + stored:
            return int(address) + offset - int(start)
    return None


def _asking(address: int) -> tuple[str, ...]:
    return ("-ex", f"info symbol {address:#x}", "-ex", f"info line *{address:#x}")


def place_name(path: Path, name: str, offset: int) -> str:
    """`main (heat.c:42)` if the file has symbols, else `heat+0x1170`."""
    plain = f"{name}+{offset:#x}"
    try:
        address = address_of(path, offset)
    except (OSError, struct.error):
        return plain
    if address is None:
        return plain
    said = ask_gdb(path, "-batch", *_asking(address), timeout_s=_GDB_TIMEOUT_S)
    function = re.search(r"^(\S+)(?: \+ \d+)? in section", said, re.M)
    line = re.search(r"^Line (\d+) of \"([^\"]+)\"", said, re.M)
    if function is None:
        return plain
    where = f"{Path(line[2]).name}:{line[1]}" if line else plain
    return f"{function[1]} ({where})"
