"""The bytes of the records of a log, in its mapped segments."""

from __future__ import annotations

import mmap
from pathlib import Path

from rdb.errors import DamagedRecording, RdbError
from rdb.recording.log.library import log_library

_SHORT = 1  # LOG_SHORT
_MODEL_MOST = 560  # LOG_MODEL_MAX
_MAPPED_MOST = 64  # segments; each map holds a descriptor (mmap.mmap duplicates it)


class LogBytes:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._segments: dict[int, tuple[mmap.mmap, memoryview]] = {}

    def bytes_of(self, segment: int, offset: int, size: int) -> memoryview:
        """The bytes of a record, expanded if it is a short one; SIZE: its bytes in the segment."""
        data = self._mapped(segment, offset, size)
        if not data[0] & _SHORT:
            return data
        ffi, library = log_library()
        whole, base = bytearray(_MODEL_MOST), self._segments[segment][1]
        out = ffi.from_buffer("uint64_t[]", whole)
        length = library.log_whole(ffi.from_buffer("uint8_t[]", base), len(base), offset, out)
        if not length:
            path = self._directory / f"log-{segment:06}.seg"
            raise DamagedRecording(f"{path}: offset {offset}: expected a short record")
        return memoryview(whole)[:length].toreadonly()

    def _mapped(self, segment: int, offset: int, size: int) -> memoryview:
        held = self._segments.get(segment)
        if held is None or offset + size > len(held[1]):
            path = self._directory / f"log-{segment:06}.seg"
            try:
                with path.open("rb") as file:
                    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            except FileNotFoundError as error:
                raise RdbError(f"{path} is gone", "its job may have dropped it (--keep)") from error
            if len(self._segments) >= _MAPPED_MOST:
                self._segments.clear()  # views keep their maps
            held = self._segments[segment] = (mapped, memoryview(mapped))
        return held[1][offset : offset + size]
