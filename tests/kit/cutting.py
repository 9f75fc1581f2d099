"""Logs as they were at an earlier event, as a killed rank leaves them (log_format.h)."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER, _SHORT, _CYCLE = 32, 1, 2
_EVENTS = {*range(2, 8), 12, 13}  # LOG_IS_EVENT


class Cuttable:
    """The last segment of a rank's log, which can be cut after any of its events."""

    def __init__(self, rank: Path) -> None:
        self._path = max(rank.glob("log-*.seg"))
        self._log = self._path.read_bytes()
        self._after: dict[int, bytes] = {}
        self._walk()

    @property
    def events(self) -> list[int]:
        return sorted(self._after)

    def cut(self, event: int) -> None:
        """As it was right after EVENT, with the room for what was to come."""
        part = self._after[event]
        self._path.write_bytes(part + bytes(len(self._log) - len(part) + 4096))

    def _walk(self) -> None:
        log, at, event = self._log, _HEADER, -1
        while at + 8 <= len(log) and (size := struct.unpack_from("<I", log, at)[0]):
            if size & _CYCLE:
                event = self._counts(at, at + 24, event + 1)
            elif size & _SHORT:
                back, later = struct.unpack_from("<II", log, at + 8)
                event = struct.unpack_from("<Q", log, at - 8 * back + 24)[0] + later
                self._after[event] = log[: at + (size & ~_SHORT)]
            elif struct.unpack_from("<H", log, at + 16)[0] in _EVENTS:
                first, repeat = struct.unpack_from("<Q", log, at + 24)[0], self._count(at)
                self._after[first] = self._counted(at, 0, at + size)
                event = self._counts(at, at + size, first + 1) if repeat else first
            at += 24 if size & _CYCLE else size & ~_SHORT

    def _count(self, at: int) -> int:
        count: int = struct.unpack_from("<I", self._log, at + 8)[0]
        return count

    def _counts(self, at: int, end: int, first: int) -> int:
        """Events from FIRST on, which the record at AT counts; the last one."""
        for number in range(self._count(at)):
            self._after[first + number] = self._counted(at, number + 1, end)
        return first + self._count(at) - 1

    def _counted(self, at: int, count: int, end: int) -> bytes:
        counts = struct.pack("<II", count, count ^ 0xFFFFFFFF)
        return self._log[: at + 8] + counts + self._log[at + 16 : end]


def length(log: bytes, at: int) -> int:
    """Of the record at that offset, short (LOG_SHORT) or not."""
    return int.from_bytes(log[at : at + 4], "little") & ~7


def starts(log: bytes) -> list[int]:
    """Offsets of the records."""
    found, at = [], 32
    while at + 8 <= len(log) and (size := length(log, at)):
        found.append(at)
        at += size
    return found
