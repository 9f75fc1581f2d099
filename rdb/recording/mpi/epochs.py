"""Epochs of one-sided communication: MPI_Win_post, _start, _complete, _wait (MPI-4.0, 12.5.2).

MPI_Win_wait returns only when all ranks of its group have called MPI_Win_complete: that orders
them.  The other calls need not wait.  A note of the log names the group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Group = tuple[int, ...]


@dataclass
class Epochs:
    """The epochs of one rank on one window, in order of events."""

    posts: list[tuple[int, Group]] = field(default_factory=list)
    starts: list[tuple[int, Group]] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    completes: list[int] = field(default_factory=list)

    def posted(self, origin: int) -> list[tuple[int, int | None]]:
        """Exposures that ORIGIN may access: (event of the post, event of the wait or None)."""
        return _bounded(self.posts, self.waits, origin)

    def started(self, target: int) -> list[tuple[int, int | None]]:
        """Accesses to TARGET: (event of the start, event of the complete or None)."""
        return _bounded(self.starts, self.completes, target)


def _bounded(
    opened: list[tuple[int, Group]], closed: list[int], other: int
) -> list[tuple[int, int | None]]:
    found = []
    for number, (event, group) in enumerate(opened):
        if other in group:
            following = opened[number + 1][0] if number + 1 < len(opened) else None
            place = bisect_left(closed, event)
            end = closed[place] if place < len(closed) else None
            # MPI_Win_test also closes an epoch, but is not among the calls read here.
            found.append((event, end if following is None or (end or 0) < following else None))
    return found


def completed(
    rank: int, own: Epochs, others: Mapping[int, Epochs]
) -> Iterator[tuple[int, int, int]]:
    """(event of a wait of RANK, origin, event of its complete).

    OTHERS: epochs of the other ranks on the same window.
    """
    for origin, theirs in others.items():
        exposures, accesses = own.posted(origin), theirs.started(rank)
        for (_, wait), (_, complete) in zip(exposures, accesses, strict=False):
            if wait is not None and complete is not None:
                yield wait, origin, complete


def missing(own: Epochs, others: Mapping[int, Epochs], at: Mapping[int, int], rank: int) -> Group:
    """Ranks that have not called MPI_Win_complete of RANK's epoch, at the positions AT."""
    exposed = [one for one in own.posts if one[0] <= at[rank]]
    if not exposed:
        return ()
    found = []
    for origin in exposed[-1][1]:
        number = sum(origin in group for _, group in exposed) - 1
        accesses = others[origin].started(rank) if origin in others else []
        complete = accesses[number][1] if number < len(accesses) else None
        if complete is None or complete > at.get(origin, -1):
            found.append(origin)
    return tuple(found)


def unposted(own: Epochs, others: Mapping[int, Epochs], at: Mapping[int, int], rank: int) -> Group:
    """Ranks that have not called MPI_Win_post for the access that RANK has begun."""
    begun = [one for one in own.starts if one[0] <= at[rank]]
    if not begun:
        return ()
    found = []
    for target in begun[-1][1]:
        number = sum(target in group for _, group in begun) - 1
        exposures = others[target].posted(rank) if target in others else []
        if number >= len(exposures) or exposures[number][0] > at.get(target, -1):
            found.append(target)
    return tuple(found)
