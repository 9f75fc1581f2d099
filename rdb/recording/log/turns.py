"""Ascending places of records, in which cycles are not expanded."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import overload


class Places(Sequence[int]):
    """Places in ascending order.  A cycle may have billions of turns."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, tuple[int, ...]]] = []
        """First place, period, wanted offsets in a period."""
        self._starts: list[int] = []
        self._count = 0

    def add(self, first: int, count: int, period: int, wanted: tuple[int, ...]) -> None:
        """Appends places: of COUNT places from FIRST on those at offsets WANTED in each PERIOD."""
        turns, more = divmod(count, period)
        number = turns * len(wanted) + sum(one < more for one in wanted)
        if number:
            self._parts.append((first, period, wanted))
            self._starts.append(self._count)
            self._count += number

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(self._count))]
        at = at + self._count if at < 0 else at
        if not 0 <= at < self._count:
            raise IndexError(at)
        part = bisect.bisect_right(self._starts, at) - 1
        first, period, wanted = self._parts[part]
        turn, which = divmod(at - self._starts[part], len(wanted))
        return first + turn * period + wanted[which]

    def __iter__(self) -> Iterator[int]:
        stops = [*self._starts, self._count][1:]
        for (first, period, wanted), start, stop in zip(
            self._parts, self._starts, stops, strict=True
        ):
            if stop - start == 1:
                yield first + wanted[0]
                continue
            for at in range(stop - start):
                turn, which = divmod(at, len(wanted))
                yield first + turn * period + wanted[which]
