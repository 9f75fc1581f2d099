"""The board of a job that runs without a recording: how its ranks agree on checkpoints.

The same file as in interposer/live/board.h.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from rdb.errors import DamagedRecording

_MAGIC, _VERSION = 0x6472616F62626472, 1
_HEAD = struct.Struct("<QIIQQQ512s")
_SLOT = struct.Struct("<Ii64s10Q")
_CLOCKS = 1000
_PAGE = 4096
_WANTED_AT, _VERDICT_AT = 16, 24
_SLOT_BYTES = (_SLOT.size + _CLOCKS * 16 + _PAGE - 1) & ~(_PAGE - 1)


class Verdict(IntEnum):
    OPEN = 0
    GO = 1
    NO = 2


class State(IntEnum):
    ABSENT = 0
    RUNS = 1
    HELD = 2
    GONE = 3


@dataclass(frozen=True, slots=True)
class Slot:
    """What one rank says of itself."""

    state: State
    pid: int
    host: str
    written: int
    failed: int
    stood_ns: int
    fork_ns: int


def board_path(job: str | os.PathLike[str]) -> Path:
    return Path(job) / "board"


class Board:
    """Mapped; every look is a fresh one."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        if len(self._map) < _PAGE + _SLOT_BYTES:
            raise DamagedRecording(f"{path}: expected a slot of a rank at offset {_PAGE}")
        magic, version, self.nranks, *_ = self._head()
        if magic != _MAGIC or len(self._map) < _PAGE + self.nranks * _SLOT_BYTES:
            raise DamagedRecording(f"{path}: expected the head of a board at offset 0")
        if version != _VERSION:
            raise DamagedRecording(f"{path}: board v{version}, this rdb reads v{_VERSION}")

    def _head(self) -> tuple[int, int, int, int, int, int, bytes]:
        magic, version, nranks, wanted, verdict, committed, why = _HEAD.unpack_from(self._map, 0)
        return magic, version, nranks, wanted, verdict, committed, why

    @property
    def wanted(self) -> int:
        return self._head()[3]

    @property
    def committed(self) -> int:
        return self._head()[5]

    @property
    def why(self) -> str:
        """Of the newest checkpoint that was not taken."""
        return self._head()[6].split(b"\0")[0].decode(errors="replace")

    def verdict(self, generation: int) -> Verdict:
        value = self._head()[4]
        if value >> 2 == generation:
            return Verdict(value & 3)
        return Verdict.NO if value >> 2 > generation else Verdict.OPEN

    def slot(self, rank: int) -> Slot:
        values = _SLOT.unpack_from(self._map, _PAGE + rank * _SLOT_BYTES)
        state, pid, host = values[:3]
        _, _, _, _, _, written, failed, stood_ns, fork_ns, _ = values[3:]
        return Slot(
            State(state),
            pid,
            host.split(b"\0")[0].decode(errors="replace"),
            written,
            failed,
            stood_ns,
            fork_ns,
        )

    def slots(self) -> list[Slot]:
        return [self.slot(rank) for rank in range(self.nranks)]

    def want(self) -> int:
        """The checkpoint that is under way, or a new one; two who ask at once get the same."""
        wanted = self.wanted
        if wanted and self.verdict(wanted) is Verdict.OPEN:
            return wanted
        struct.pack_into("<Q", self._map, _WANTED_AT, wanted + 1)
        return wanted + 1

    def refuse(self, generation: int) -> None:
        """Nobody waits any longer; what the ranks have decided already stands."""
        if self.verdict(generation) is Verdict.OPEN:
            struct.pack_into("<Q", self._map, _VERDICT_AT, generation << 2 | Verdict.NO)
