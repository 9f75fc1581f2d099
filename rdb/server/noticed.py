"""The memory that GDB read to evaluate an expression: the value depends on it and on registers."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

from rdb.replay.arrays import ArrayPlan
from rdb.replay.lookout import Lookout
from rdb.replay.protocol import LOOKOUTS, Gpr

Place = tuple[int, int]  # address and length
_OTHER = (b"M", b"X", b"G", b"P", b"qGetTLSAddr", b"vFile")


@dataclass
class Noticed:
    memory: dict[tuple[int, int], bytes] = field(default_factory=dict)  # by address and length
    whole: bool = True
    """False: the value also depends on something else."""

    def read(self, addr: int, length: int, data: bytes) -> None:
        self.memory[addr, length] = data
        self.whole = self.whole and len(data) == length

    def packet(self, packet: bytes, other_thread: bool) -> None:
        if packet.startswith(_OTHER) or (other_thread and packet[:1] in (b"g", b"p")):
            self.whole = False

    def narrow(self, fetched: Sequence[Place], needed: Sequence[Place]) -> None:
        """Keeps only the NEEDED parts of the FETCHED blocks."""
        parts = {(at, size): self.memory.pop((at, size), b"") for at, size in fetched}
        starts = sorted(parts)
        for addr, length in needed:
            of = starts[max(bisect.bisect(starts, (addr, 1 << 64)) - 1, 0)] if starts else (0, 0)
            data = parts.get(of, b"")[addr - of[0] :][:length] if of[0] <= addr else b""
            self.whole = self.whole and len(data) == length
            self.memory[addr, length] = data

    @property
    def ranges(self) -> list[tuple[int, bytes]]:
        """(address, bytes) of the memory that was read; adjacent and overlapping blocks joined."""
        found: list[tuple[int, bytearray]] = []
        for (addr, _), data in sorted(self.memory.items()):
            end = found[-1][0] + len(found[-1][1]) if found else -1
            if addr > end:
                found.append((addr, bytearray(data)))
            else:
                found[-1][1].extend(data[end - addr :])
        return [(addr, bytes(data)) for addr, data in found]

    def lookout(self, registers: int, gpr: Gpr, folds: Sequence[ArrayPlan]) -> Lookout | None:
        """The lookout of the evaluation; None: the value depends on more than a lookout can
        hold."""
        found = Lookout(registers, gpr, self.ranges, folds)
        return found if self.whole and found.fits else None


class Lookouts:
    """The newest lookouts, at most LOOKOUTS; each has a place (number) in the agent."""

    def __init__(self) -> None:
        self._next = 0
        self._known: dict[int, Lookout] = {}  # by place

    def add(self, lookout: Lookout) -> int:
        """The place in the agent that the lookout takes."""
        place = self._next
        self._known[place] = lookout
        self._next = (self._next + 1) % LOOKOUTS
        return place

    @property
    def all(self) -> list[Lookout]:
        return [self._known[place] for place in range(len(self._known))]
