"""Compilation units whose debug information has a name, without reading the whole of it."""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

from rdb.recording.symbols.detached import DEBUG_FOLDER, debug_files
from rdb.recording.symbols.named import spelled

_STRINGS_MAX = 64  # ends of strings with the name; of a name with more, each unit counts


def units_with(files: Mapping[str, Path | None], symbols: Path, name: str) -> list[str]:
    """The source files of the units in which a variable may have that name; there may be more.

    FILES and SYMBOLS as in `files_lack`.
    """
    found: dict[str, None] = {}
    for stored in filter(None, files.values()):
        for path in (
            stored,
            *(one for at in (symbols, DEBUG_FOLDER) for one in debug_files(stored, at)),
        ):
            try:
                found.update(dict.fromkeys(_of_file(path, name)))
            except (OSError, ELFError, DWARFError, struct.error):
                continue  # no binary, or a damaged one
    return list(found)


def _of_file(path: Path, name: str) -> Iterator[str]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info():
            return
        dwarf = elf.get_dwarf_info(follow_links=False)
        info, strings, indices = (
            b"" if one is None else _contents(one)
            for one in (dwarf.debug_info_sec, dwarf.debug_str_sec, dwarf.debug_str_offsets_sec)
        )
        units = list(dwarf.iter_CUs())
        wanted = _any(spelled(name))
        referred = {one.start() for one in wanted.finditer(strings)}
        if len(referred) <= _STRINGS_MAX:
            by_offset = _any(struct.pack("<I", one) for one in referred)
            starts = [one.cu_offset for one in units]
            inside, by_offsets = (
                {bisect_right(starts, one.start()) - 1 for one in hits}
                for hits in (wanted.finditer(info), by_offset.finditer(info) if referred else ())
            )
            of_index = [one.start() for one in by_offset.finditer(indices)] if referred else []
            units = [
                one for number, one in enumerate(units)
                if number in inside
                or ((number in by_offsets or of_index)
                and _refers(one, number in by_offsets, indices, of_index))
            ]  # fmt: skip
        for one in units:
            top = one.get_top_DIE()
            if "DW_AT_name" in top.attributes:
                yield os.path.normpath(top.get_full_path())


def _contents(section: Any) -> bytes:
    return bytes(section.stream.getvalue())


def _any(texts: Any) -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, texts)))


def _refers(unit: Any, by_offset: bool, indices: bytes, hits: list[int]) -> bool:
    """Does the unit refer to one of these strings?

    BY_OFFSET: it holds the offset of one, maybe by chance.  That counts for nothing in a unit with
    a part of .debug_str_offsets (DWARF 5, 7.26), which refers to strings by their places there.
    """
    base = unit.get_top_DIE().attributes.get("DW_AT_str_offsets_base")
    if base is None:
        return by_offset
    (length,) = struct.unpack_from("<I", indices, base.value - 8)
    return any(base.value <= one < base.value - 4 + length for one in hits)
