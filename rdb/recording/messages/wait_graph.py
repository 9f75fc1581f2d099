"""The wait-for graph of a job: calls that have no answer, what they need, who waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

POLLS = frozenset(
    (
        "MPI_Test",
        "MPI_Testall",
        "MPI_Testany",
        "MPI_Testsome",
        "MPI_Iprobe",
        "MPI_Improbe",
        "MPI_Request_get_status",
        "MPI_Win_test",
        "MPI_Parrived",
    )
)
ASLEEP = "a thread"
"""Stands for a call: each thread of the rank waits for another thread of the rank."""


@dataclass(frozen=True)
class Call:
    """The MPI call in which a rank is at its position, which has no answer yet."""

    name: str
    text: str
    """The call with its arguments."""
    arguments: Mapping[str, int]
    requests: tuple[int, ...] = ()
    """Of a call that waits for requests: their ids, without MPI_REQUEST_NULL."""
    thread: int = 1


@dataclass(frozen=True)
class Need:
    """One thing that a rank waits for."""

    what: str
    ranks: tuple[int, ...]
    """The ranks that are needed: any one of them if `any_of`, else all."""
    any_of: bool = False
    notes: tuple[str, ...] = ()
    doubt: str = ""
    """Why it is not known whether the need is real, or which of its ranks are needed; "": it is
    known.  If a rank waits for all of its needs, at least one of the doubtful ones is real."""
    perhaps_none: bool = False
    """The need is doubtful, and the rank may wait for nothing at all."""
    of: int = 0
    """Of a call that waits for any of several requests: index of the request."""


@dataclass(frozen=True)
class Waiter:
    """A rank that is blocked in MPI."""

    rank: int
    event: int
    call: Call
    needs: tuple[Need, ...]
    any_of: bool
    """One of the needs is enough (MPI_Waitany)."""
    deadlocked: bool = False
    perhaps: bool = False
    """The rank is deadlocked in some of the cases that the logs leave open."""

    @property
    def waits_for(self) -> tuple[int, ...]:
        return tuple(sorted({rank for need in self.needs for rank in need.ranks}))


@dataclass(frozen=True)
class WaitFor:
    """The wait-for graph."""

    waiters: tuple[Waiter, ...]
    free: tuple[int, ...]
    """Ranks that are not blocked in MPI."""
    ended: Mapping[int, str]
    deadlocked: tuple[int, ...]
    cycle: tuple[int, ...] = ()
    """Ranks each of which waits for the next, the last one for the first; empty: no cycle."""
    notes: tuple[str, ...] = field(default=())
    certain: bool = False
    """There is a deadlock in every case, perhaps of different ranks."""
    unknown: tuple[str, ...] = ()
    """Why it cannot be known whether other ranks are deadlocked; empty: it is known."""
