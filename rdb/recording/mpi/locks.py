"""The order of events that exclusive locks of windows establish (MPI-4.0, 12.5.3).

Of two sections on the same target, one of them under an exclusive lock, one ends before the other
has its lock.  Only the times in the logs tell which.  MPI_Win_lock may return before it has the
lock.  So a section has the lock at the latest when its unlock is answered, and keeps it at least
until its unlock is called.  A section whose unlock was answered before the other's unlock was
called came first, and is in the past of the other's unlock.  If the two calls overlap, or the ranks
ran on different hosts with clocks of their own, the order is not known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from rdb.recording.log.describe import mpi_functions

ALL = -1
"""The target of MPI_Win_lock_all, a shared lock of every target."""
EXCLUSIVE = 1  # MPI_LOCK_EXCLUSIVE and MPI_MODE_NOCHECK as the log has them
NOCHECK = 1
_CALLS = ("MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_lock_all", "MPI_Win_unlock_all")


@cache
def lock_calls() -> dict[int, str]:
    """Hypercall number -> name."""
    return {int(one["nr"]): one["name"] for one in mpi_functions() if one["name"] in _CALLS}


class Section(NamedTuple):
    """The time from a lock to its unlock."""

    unlocked: int
    """Event of the unlock; `at_ns`: when it was answered."""
    at_ns: int
    exclusive: bool


@dataclass
class Held:
    """A lock call: its event, its target, and the event of the unlock (None: none yet)."""

    asked: int
    target: int
    exclusive: bool
    unlocked: int | None = None


@dataclass
class Locks:
    """The sections of one rank on one window by target, in order of their ends."""

    sections: dict[int, list[Section]] = field(default_factory=lambda: defaultdict(list))
    _open: dict[int, bool | None] = field(default_factory=dict)
    _held: list[Held] = field(default_factory=list)

    def held(self, event: int) -> list[Held]:
        """Locks that were asked for and not released by an event."""
        return [
            one
            for one in self._held
            if one.asked <= event and (one.unlocked is None or one.unlocked > event)
        ]

    def add(
        self, name: str, event: int, at_ns: int, target: int, kind: int, assertion: int
    ) -> None:
        if name.endswith("_all"):
            target = ALL
        if "unlock" not in name:
            # With MPI_MODE_NOCHECK no lock is acquired.
            shared = target == ALL or kind != EXCLUSIVE
            self._open[target] = None if assertion & NOCHECK else not shared
            if not assertion & NOCHECK:
                self._held.append(Held(event, target, not shared))
            return
        for one in self._held:
            if one.target == target and one.unlocked is None:
                one.unlocked = event
        exclusive = self._open.pop(target, None)
        if exclusive is not None:
            self.sections[target].append(Section(event, at_ns, exclusive))


class _Ended:
    """Ends of the sections of a rank on one target, sorted by time."""

    def __init__(self, sections: list[Section]) -> None:
        ordered = sorted(sections, key=lambda one: one.at_ns)
        self.times = [one.at_ns for one in ordered]
        self.events: list[int] = []
        newest = -1
        for one in ordered:
            newest = max(newest, one.unlocked)
            self.events.append(newest)

    def by(self, at_ns: int) -> int | None:
        """Event of the newest unlock answered by a time; None: there is none."""
        place = bisect_right(self.times, at_ns)
        return self.events[place - 1] if place else None


def released(
    own: Locks, others: Mapping[int, Locks], called_ns: Callable[[int], int | None]
) -> Iterator[tuple[int, int, int]]:
    """(event of an unlock, another rank, event of that rank's earlier unlock).

    OTHERS: locks of other ranks of the same window and host.  CALLED_NS: event -> when its call was
    made, in ns; None: not known.
    """
    for target, mine in own.sections.items():
        known: list[tuple[int, _Ended, _Ended]] = []
        for rank, theirs in others.items():
            found = [
                one
                for name, sections in theirs.sections.items()
                if name == target or ALL in (name, target)
                for one in sections
            ]
            exclusive = [one for one in found if one.exclusive]
            if exclusive or (found and any(one.exclusive for one in mine)):
                known.append((rank, _Ended(found), _Ended(exclusive)))
        if not known:
            continue
        for section in mine:
            called = called_ns(section.unlocked)
            if called is None:
                continue
            for rank, every, exclusive_ones in known:
                before = (every if section.exclusive else exclusive_ones).by(called)
                if before is not None:
                    yield section.unlocked, rank, before
