"""Names for places in a program's files, from the symbols they have: `main (heat.c:42)`."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

_LOAD = 1  # PT_LOAD
_GDB_TIMEOUT_S = 30


def address_of(path: Path, offset: int) -> int | None:
    """The address, as the file's own symbols count, of what is at this offset of an ELF file."""
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
    """`main (heat.c:42)` where the file says so, else `heat+0x1170`."""
    plain = f"{name}+{offset:#x}"
    try:
        address = address_of(path, offset)
    except (OSError, struct.error):
        return plain
    gdb = shutil.which("gdb")
    if address is None or gdb is None:
        return plain
    try:
        done = subprocess.run(
            [gdb, "-nx", "-q", "-batch", *_asking(address), str(path)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_GDB_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return plain
    function = re.search(r"^(\S+)(?: \+ \d+)? in section", done.stdout, re.M)
    line = re.search(r"^Line (\d+) of \"([^\"]+)\"", done.stdout, re.M)
    if function is None:
        return plain
    where = f"{Path(line[2]).name}:{line[1]}" if line else plain
    return f"{function[1]} ({where})"
