"""Places of records of which those that went round and round are not written out."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from typing import overload


class Places(Sequence[int]):
    """In order.  Of the turns of a cycle there may be billions."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, tuple[int, ...]]] = []
        """First place, period, and which places of a period."""
        self._starts: list[int] = []
        self._count = 0

    def add(self, first: int, count: int, period: int, wanted: tuple[int, ...]) -> None:
        """The WANTED ones of each PERIOD among COUNT places."""
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
