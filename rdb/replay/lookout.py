"""The registers and memory that an evaluated expression depended on (interposer/seek/lookout.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rdb.replay import protocol as wire
from rdb.replay.arrays import ArrayPlan


class Lookout(NamedTuple):
    """REGISTERS: bit n is set if the expression read register n of Gpr; MEMORY: (address, bytes)
    that it read."""

    registers: int
    gpr: wire.Gpr
    memory: Sequence[tuple[int, bytes]]
    folds: Sequence[ArrayPlan]

    @property
    def fits(self) -> bool:
        length = sum(len(data) for _, data in self.memory)
        few = len(self.memory) <= wire.RANGES and len(self.folds) <= wire.FOLDS
        return few and length <= wire.LOOKOUT_BYTES

    def packed(self) -> bytes:
        ranges = b"".join(wire.RANGE.pack(addr, len(data)) for addr, data in self.memory)
        folds = b"".join(one.packed() for one in self.folds)
        data = b"".join(data for _, data in self.memory)
        return (
            wire.LOOKOUT.pack(len(self.memory), len(self.folds), self.registers)
            + wire.GPR.pack(*self.gpr)
            + ranges.ljust(wire.RANGES * wire.RANGE.size, b"\0")
            + folds.ljust(wire.FOLDS * wire.ARRAY_PLAN_BYTES, b"\0")
            + data.ljust(wire.LOOKOUT_BYTES, b"\0")
        )
