"""What GDB read of the rank while it evaluated something: on that, and on registers, it depends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rdb.replay.arrays import ArrayPlan
from rdb.replay.lookout import Lookout
from rdb.replay.protocol import LOOKOUTS, Gpr

_OTHER = (b"M", b"X", b"G", b"P", b"qGetTLSAddr", b"vFile")


@dataclass
class Noticed:
    memory: dict[int, bytes] = field(default_factory=dict)
    whole: bool = True
    """False: it depends on something else, too."""

    def read(self, addr: int, length: int, data: bytes) -> None:
        if len(data) > len(self.memory.get(addr, b"")):
            self.memory[addr] = data
        self.whole = self.whole and len(data) == length

    def packet(self, packet: bytes, other_thread: bool) -> None:
        if packet.startswith(_OTHER) or (other_thread and packet[:1] in (b"g", b"p")):
            self.whole = False

    def lookout(self, registers: int, gpr: Gpr, folds: Sequence[ArrayPlan]) -> Lookout | None:
        """None: it depends on more than that."""
        found = Lookout(registers, gpr, sorted(self.memory.items()), folds)
        return found if self.whole and found.fits else None


class Lookouts:
    """The newest ones; each has a number of its own."""

    def __init__(self) -> None:
        self._next = 0
        self._known: dict[int, Lookout] = {}  # by place

    def add(self, lookout: Lookout) -> int:
        """The place of the agent's that it takes."""
        place = self._next
        self._known[place] = lookout
        self._next = (self._next + 1) % LOOKOUTS
        return place

    @property
    def all(self) -> list[Lookout]:
        return [self._known[place] for place in range(len(self._known))]
