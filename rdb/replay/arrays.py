"""An expression over arrays that the agent evaluates (interposer/seek/arrays.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rdb.errors import Usage
from rdb.replay import protocol as wire

NOTHING = 2**64 - 1  # as an index


class ArrayFound(NamedTuple):
    high: float
    low: float
    elements: int
    first: int
    nodes: tuple[int, ...]
    """For each operand that is a linked structure: address of the node of element `first`."""

    @classmethod
    def unpacked(cls, payload: bytes | memoryview) -> ArrayFound:
        high, low, elements, first, *nodes = wire.ARRAY_FOUND.unpack(payload)
        return cls(high, low, elements, first, tuple(nodes))


class ArrayPlan(NamedTuple):
    """EXTENTS: elements in each dimension, the fastest-changing dimension first.

    OPERANDS: (address, type, way from one element to the next, strides in bytes or the parameters
    of that way).  STEPS: (operation, operand, high and low part of a constant).
    """

    fold: int
    extents: Sequence[int]
    operands: Sequence[tuple[int, int, int, Sequence[int]]]
    steps: Sequence[tuple[int, int, float, float]]

    @classmethod
    def of(cls, plan: dict[str, Any]) -> ArrayPlan:
        """A plan that the GDB extension sent as JSON.  Raises Usage if it is too large."""
        found = cls(plan["fold"], plan["extents"], plan["operands"], plan["steps"])
        if not (
            0 < len(found.extents) <= wire.DIMENSIONS
            and 0 < len(found.operands) <= wire.OPERANDS
            and 0 < len(found.steps) <= wire.STEPS
        ):
            raise Usage(
                "too much for one predicate",
                f"at most {wire.OPERANDS} arrays, {wire.DIMENSIONS} dimensions and {wire.STEPS} "
                "operations",
            )
        return found

    def packed(self) -> bytes:
        sizes = (len(self.extents), len(self.operands), len(self.steps))
        parts = [wire.ARRAY.pack(self.fold, *sizes, *_filled(self.extents))]
        for address, kind, walk, numbers in self.operands:
            parts.append(wire.ARRAY_OPERAND.pack(address, kind, walk, *_filled(numbers)))
        parts.append(bytes(wire.ARRAY_OPERAND.size * (wire.OPERANDS - len(self.operands))))
        parts += [wire.ARRAY_STEP.pack(*step) for step in self.steps]
        parts.append(bytes(wire.ARRAY_STEP.size * (wire.STEPS - len(self.steps))))
        return b"".join(parts)


def _filled(numbers: Sequence[int]) -> list[int]:
    return [*numbers, *(0,) * (wire.DIMENSIONS - len(numbers))]
