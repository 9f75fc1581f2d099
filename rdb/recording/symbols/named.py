"""Whether a program's files define a name of a function, variable, member or type."""

from __future__ import annotations

import lzma
import mmap
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from rdb.recording.symbols.detached import (
    DEBUG_FOLDER,
    Section,
    debug_files,
    section_rows,
    sections,
)

_COMPRESSED = 0x800  # SHF_COMPRESSED
_CHDR = struct.Struct("<IIQQ")  # Elf64_Chdr
_ZLIB = 1  # ELFCOMPRESS_ZLIB
_MACROS = (".debug_macro", ".debug_macinfo")  # `NAME value`
_WITH_NAMES = (".debug_str", ".debug_info", ".debug_types", *_MACROS)
_MOST = 256 << 20  # bytes
_SPLIT = b".dwo\0"  # end of the name of a split debug file (DWARF 5, 7.3.2)


def files_lack(files: Mapping[str, Path | None], symbols: Path, name: str) -> bool:
    """True if surely none of the files has such a name; False also if some names cannot be read.

    FILES: path -> stored file.  SYMBOLS: folder of detached debug information of the job.
    """
    for path, stored in files.items():
        if stored is None or not _lacks(stored, name, False):
            return False
        if any(link.exists() for link in _linked(path, stored)):
            return False
        for folder in (symbols, DEBUG_FOLDER):
            if not all(_lacks(one, name, True) for one in debug_files(stored, folder)):
                return False
    return True


def _linked(path: str, stored: Path) -> Iterator[Path]:
    """The debug information that GDB finds by the binary's path (.gnu_debuglink)."""
    link = sections(stored).get(".gnu_debuglink", b"").partition(b"\0")[0]
    if link:
        yield Path(f"{DEBUG_FOLDER}{os.path.dirname(path)}", os.fsdecode(link))


def _lacks(path: Path, name: str, detached: bool) -> bool:
    try:
        rows = section_rows(path)
        wanted = {*spelled(name), _SPLIT}
        if any(one.name in _MACROS for one in rows):
            wanted |= {name.encode() + end for end in (b" ", b"(")}
        if not rows:
            return True  # no binary
        if not detached and any(one.name == ".gnu_debugaltlink" for one in rows):
            return False
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            packed = [_unpacked(text, one) for one in rows]
            here = (one in part for part in packed if part is not None for one in wanted)
            return not any(here) and all(text.find(one) < 0 for one in wanted)
    except (OSError, ValueError, struct.error, zlib.error, lzma.LZMAError):
        return False


def _unpacked(text: mmap.mmap, section: Section) -> bytes | None:
    """Contents of a compressed section with names; None: it is not compressed, or has no names.

    Raises ValueError for a compression that is not supported.
    """
    name, flags, offset, length = section
    if name == ".gnu_debugdata":
        return lzma.decompress(text[offset : offset + length])
    if name.startswith(".zdebug_"):
        raise ValueError(name)
    if not flags & _COMPRESSED or name not in _WITH_NAMES:
        return None
    kind, _, size, _ = _CHDR.unpack_from(text, offset)
    if kind != _ZLIB or size > _MOST:
        raise ValueError(name)
    return zlib.decompress(text[offset + _CHDR.size : offset + length])


def spelled(name: str) -> set[bytes]:
    """The spellings of a name's last part in a string table; Fortran and Ada fold the case."""
    last = re.split(r"::|\.", name)[-1]
    return {one.encode() + b"\0" for one in (last, last.lower(), last.upper())}
