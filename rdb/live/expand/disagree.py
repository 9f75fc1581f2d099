"""Finds logs that do not belong together: ranks whose n-th collectives on a communicator differ.

In the real MPI such ranks would wait for each other for ever, each in another collective. The logs
show it at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.collectives import Flow, collectives
from rdb.recording.mpi.communication import Communicator, RankCommunication

_ROOTED = (Flow.FROM_ROOT, Flow.TO_ROOT)


@dataclass(frozen=True, slots=True)
class Called:
    """A rank's collective, as its log has it."""

    rank: int
    event: int
    what: str

    def __str__(self) -> str:
        return f"rank {self.rank} is in {self.what} at event {self.event}"


@dataclass(frozen=True, slots=True)
class Disagreement:
    comm: str
    number: int
    """Number of the collective on that communicator, from 1."""
    one: Called
    other: Called

    def __str__(self) -> str:
        return f"in collective {self.number} on {self.comm} {self.one}, and {self.other}"


def called(known: RankCommunication, name: str, number: int) -> str:
    """The function of a collective, with its root if the root's number means the same in
    all ranks.
    """
    item = known.item(known.collectives[name][number])
    function, flow = collectives().get(item.nr, ("a collective", Flow.LATER))
    comm = known.communicators.get(name)
    if flow in _ROOTED and comm is not None and not comm.inter:
        return f"{function} (root {item.peer})"
    return function


def members(messages: Messages, comm: Communicator | None, name: str) -> list[int]:
    if comm is not None and comm.members is not None:
        return list(comm.members)
    return [r for r in messages.ranks if name in messages.communication(r).communicators]


def disagreement(
    messages: Messages, rank: int, instances: Iterable[tuple[str, int]]
) -> Disagreement | None:
    """The first difference between RANK's collectives INSTANCES and another rank's, or None."""
    known = messages.communication(rank)
    for name, number in instances:
        comm = known.communicators.get(name)
        mine = called(known, name, number)
        for other in members(messages, comm, name):
            theirs = messages.communication(other)
            places = theirs.collectives.get(name, ())
            if number >= len(places) or called(theirs, name, number) == mine:
                continue
            here, there = known.collectives[name][number], places[number]
            one = Called(rank, known.event(here), mine)
            return Disagreement(
                name,
                number + 1,
                one,
                Called(other, theirs.event(there), called(theirs, name, number)),
            )
    return None
