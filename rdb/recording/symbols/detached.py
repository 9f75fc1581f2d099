"""Files that a debugger needs besides the mapped ones: detached debug information, sources."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rdb.recording.symbols.gdb_batch import ask_gdb

DEBUG_FOLDER = Path("/usr/lib/debug")
SYMBOLS = "symbols"  # folder of an unpacked job that stands for DEBUG_FOLDER
SOURCES = "sources"  # folder of an unpacked job that stands for /
_SOURCE_MAX_BYTES = 16 << 20
_GDB_TIMEOUT_S = 120
_NOTE_BUILD_ID = 3  # NT_GNU_BUILD_ID
_FULL_NAME = re.compile(r'fullname="((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")


class Section(NamedTuple):
    name: str
    flags: int
    offset: int
    length: int


def section_rows(path: Path) -> list[Section]:
    """The sections of a 64-bit little-endian ELF file; empty: it is none, or is damaged."""
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return []
        (table,) = struct.unpack_from("<Q", head, 40)
        size, count, names_index = struct.unpack_from("<HHH", head, 58)
        file.seek(table)
        data = file.read(size * count)
        if size < 64 or len(data) < size * count or names_index >= count:
            return []
        rows = [struct.unpack_from("<IIQQQQ", data, size * k) for k in range(count)]
        file.seek(rows[names_index][4])
        names = file.read(rows[names_index][5])
    return [
        Section(names[at : names.find(b"\0", at)].decode("ascii", "replace"), flags, *where)
        for at, _, flags, _, *where in rows
    ]


def sections(path: Path) -> dict[str, bytes]:
    """Contents of an ELF file's sections that name other files; `.debug_info`, if it exists, is
    empty."""
    wanted = (".note.gnu.build-id", ".gnu_debugaltlink", ".gnu_debuglink")
    found: dict[str, bytes] = {}
    with path.open("rb") as file:
        for name, _, offset, length in section_rows(path):
            if name in wanted and length < 65536:
                file.seek(offset)
                found[name] = file.read(length)
            elif name == ".debug_info":
                found[name] = b""
    return found


def build_id(note: bytes) -> str | None:
    """The build id, in hex, from a .note.gnu.build-id section; None: there is none."""
    if len(note) < 16:
        return None
    name_size, size, kind = struct.unpack_from("<III", note)
    start = 12 + (name_size + 3 & ~3)
    if kind != _NOTE_BUILD_ID or size < 2 or start + size > len(note):
        return None
    return note[start : start + size].hex()


def debug_files(path: Path, folder: Path = DEBUG_FOLDER) -> Iterator[Path]:
    """The detached debug information of a binary, found by its build id, and the file that dwz(1)
    has split off."""
    identity = build_id(sections(path).get(".note.gnu.build-id", b""))
    if identity is None:
        return
    detached = folder / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
    if not detached.is_file():
        return
    yield detached
    name = sections(detached).get(".gnu_debugaltlink", b"").split(b"\0", 1)[0]
    shared = Path(name.decode("utf-8", "surrogateescape"))
    if name and not shared.is_absolute():
        shared = Path(detached.resolve().parent, shared)
    if name and shared.resolve().is_relative_to(folder) and shared.is_file():
        yield shared.resolve()


def source_files(path: Path) -> list[Path]:
    """The source files of a binary with debug information that exist here, up to 16 MiB each."""
    if ".debug_info" not in sections(path):
        return []
    said = ask_gdb(
        path,
        *("--interpreter=mi3", "-iex", "set debuginfod enabled off"),
        commands="-file-list-exec-source-files\n-gdb-exit\n",
        timeout_s=_GDB_TIMEOUT_S,
    )
    names = {_ESCAPED.sub(_unescaped, name) for name in _FULL_NAME.findall(said)}
    return [path for path in map(Path, sorted(names)) if path.is_absolute() and _small(path)]


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if len(code) == 3 else {"n": "\n", "t": "\t"}.get(code, code)


def _small(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _SOURCE_MAX_BYTES
    except (OSError, ValueError):
        return False
