"""What exclusive locks of windows order.

Of two sections on the same target, one of them under an exclusive lock, one is over before the
other has its lock.  Which one, the logs say by their times alone.  MPI_Win_lock may return before
it has the lock, so a section has had it by the answer of its unlock at the latest, and has it until
that unlock is called at least.  So a section whose unlock was answered before the other's was
called came first, and who has unlocked after it knows of it.  Where the two calls overlap, or the
ranks ran on different hosts, whose clocks are not to be compared, nothing is known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from rdb.recording.log.describe import mpi_functions

ALL = -1
"""The target of MPI_Win_lock_all, which is a shared lock of each."""
EXCLUSIVE = 1  # MPI_LOCK_EXCLUSIVE and MPI_MODE_NOCHECK as the log has them
NOCHECK = 1
_CALLS = ("MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_lock_all", "MPI_Win_unlock_all")


@cache
def lock_calls() -> dict[int, str]:
    """Hypercall number -> name."""
    return {int(one["nr"]): one["name"] for one in mpi_functions() if one["name"] in _CALLS}


@dataclass(frozen=True)
class Section:
    """From a lock to its unlock."""

    unlocked: int
    """The event, and when it was answered."""
    at_ns: int
    exclusive: bool


@dataclass
class Held:
    """A lock that was asked for, whether it is exclusive, and the event that gave it up."""

    asked: int
    target: int
    exclusive: bool
    unlocked: int | None = None


@dataclass
class Locks:
    """The sections of one rank on one window by target, in the order in which they ended."""

    sections: dict[int, list[Section]] = field(default_factory=lambda: defaultdict(list))
    _open: dict[int, bool | None] = field(default_factory=dict)
    _held: list[Held] = field(default_factory=list)

    def held(self, event: int) -> list[Held]:
        """Those that are not given up after an event."""
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
            # Who says that there is no other lock (NOCHECK) gets none.
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
    """When the sections of a rank on one target had ended, all of them or the exclusive ones."""

    def __init__(self, sections: list[Section]) -> None:
        ordered = sorted(sections, key=lambda one: one.at_ns)
        self.times = [one.at_ns for one in ordered]
        self.events: list[int] = []
        newest = -1
        for one in ordered:
            newest = max(newest, one.unlocked)
            self.events.append(newest)

    def by(self, at_ns: int) -> int | None:
        """The event of the newest unlock that had been answered."""
        place = bisect_right(self.times, at_ns)
        return self.events[place - 1] if place else None


def released(
    own: Locks, others: Mapping[int, Locks], called_ns: Callable[[int], int | None]
) -> Iterator[tuple[int, int, int]]:
    """(event of an unlock, another rank, event of its unlock that came before); OTHERS: of the same
    window and host.  CALLED_NS: when the call that an event answered was made, if that is known."""
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
