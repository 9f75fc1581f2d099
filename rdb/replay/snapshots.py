"""Which snapshots to keep: few near the start, more and more towards the user's position.

A snapshot is a stopped replica that is never moved, only forked.  `at_s` is the running time from
the start to the snapshot, in seconds: the spacing follows the cost of a motion, not event numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from rdb.memory import memory

DEFAULT_LIMIT = 24
_NEAR_S = 0.001


class Snapshot(Protocol):
    @property
    def event(self) -> int: ...
    @property
    def at_s(self) -> float: ...
    def close(self) -> None: ...


S = TypeVar("S", bound=Snapshot)


def available_memory() -> float:
    """As a share of all memory, 0 to 1."""
    now = memory()
    return now.available / now.total


class Snapshots(Generic[S]):
    """Snapshots in order of their positions.  The first, `origin`, is never dropped."""

    def __init__(self, origin: S, limit: int = DEFAULT_LIMIT) -> None:
        self.origin = origin
        self.limit = limit
        self._items: list[S] = [origin]

    def __iter__(self) -> Iterator[S]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: S, here_s: float, fork_s: float) -> None:
        """Keeps `item`; drops the snapshots that are least useful to a user at `here_s`.

        `fork_s`: duration of a fork, in seconds.
        """
        self._items.append(item)
        self._items[1:] = sorted(self._items[1:], key=lambda one: (one.event, one.at_s))
        limit = self._limit_for(fork_s)
        while len(self._items) > limit:
            self._drop(self._least_useful(here_s, item))

    def drop(self, unwanted: Callable[[S], bool]) -> None:
        for item in [one for one in self._items[1:] if unwanted(one)]:
            self._drop(item)

    def _limit_for(self, fork_s: float) -> int:
        """Forks of a big rank cost page tables and copied pages, so fewer are kept."""
        limit = self.limit
        if fork_s > 0.010:
            limit //= 2
        if fork_s > 0.050:
            limit //= 2
        if available_memory() < 0.10:
            limit //= 4
        return max(limit, 3)

    def _least_useful(self, here_s: float, newest: S) -> S:
        """The snapshot that leaves the smallest gap, relative to its distance from here."""

        def loss(index: int) -> float:
            before = self._items[index - 1].at_s
            last = index + 1 == len(self._items)
            after = here_s if last else self._items[index + 1].at_s
            return abs(after - before) / (abs(here_s - self._items[index].at_s) + _NEAR_S)

        candidates = [i for i in range(1, len(self._items)) if self._items[i] is not newest]
        return self._items[min(candidates, key=loss)]

    def _drop(self, item: S) -> None:
        self._items.remove(item)
        item.close()

    def close(self) -> None:
        for item in reversed(self._items):
            item.close()
        self._items.clear()
