"""Where the ranks of a job stand, in one world: communicators, and how often ranks have met."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rdb.recording.messages.matching import Matching, World
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.partitioned import Partitioned
from rdb.recording.messages.wait_graph import Call, Need
from rdb.recording.mpi.collectives import collectives, meetings
from rdb.recording.mpi.communication import WORLD, Communicator


@dataclass(frozen=True)
class Standings:
    """What all worlds have in common."""

    messages: Messages
    matching: Matching
    calls: Mapping[int, Sequence[Call]]
    """At least one call for each rank."""
    ended: Mapping[int, str]
    lost: Collection[int]
    threaded: Collection[int]

    @cached_property
    def partitioned(self) -> Partitioned:
        return self.messages.partitioned()


def comm_of(arguments: Mapping[str, int]) -> int | None:
    """The call's communicator; for a call that makes a topology, the old communicator."""
    return arguments.get("comm", arguments.get("comm_old"))


class Standing:
    """One world: the messages that the receives of all ranks have taken."""

    def __init__(self, job: Standings, world: World) -> None:
        self._job = job
        self._messages = job.messages
        self._matching = job.matching
        self._world_of = world
        self.at = job.matching.at
        self.calls = job.calls
        self._ended = job.ended
        self._lost = job.lost
        self.threaded = job.threaded
        self._numbers = {name: nr for nr, (name, _) in collectives().items()}

    def _each(self) -> Iterable[tuple[int, Call]]:
        return ((rank, call) for rank, calls in self.calls.items() for call in calls)

    def _called(self, rank: int, name: str) -> Call | None:
        """The unanswered call of that procedure by RANK."""
        return next((call for call in self.calls.get(rank, ()) if call.name == name), None)

    def _comm(self, rank: int, number: int | None) -> Communicator | None:
        if number is None:
            return None
        return self._messages.communication(rank).communicator(number, self.at[rank])

    def _members(self, comm: Communicator) -> tuple[int, ...]:
        """Members of a communicator; of an intercommunicator the remote group."""
        if comm.members is not None:
            return comm.members
        return (*self._here(comm), *(self._lost if comm.name == WORLD.name else ()))

    def _all(self, comm: Communicator) -> tuple[int, ...]:
        """The ranks that take part in a collective on a communicator."""
        if not comm.inter:
            return self._members(comm)
        return tuple(sorted({*self._here(comm), *self._members(comm)}))

    def _here(self, comm: Communicator) -> list[int]:
        """Ranks that have the communicator, or a file of that name."""
        known = {rank: self._messages.communication(rank) for rank in self.at}
        return [
            rank
            for rank, one in known.items()
            if comm.name in one.communicators or comm.name in one.files
        ]

    def _world(self, comm: Communicator, rank: int) -> int:
        members = self._members(comm)
        return members[rank] if 0 <= rank < len(members) else rank

    def _world_rank(self, comm: Communicator, rank: int) -> int:
        """The rank in COMM of a rank of the job."""
        members = self._members(comm)
        return members.index(rank) if rank in members else rank

    def _group(self, rank: int, number: int) -> tuple[int, ...] | None:
        return self._messages.communication(rank).group(number & 0xFFFFFFFF, self.at[rank])

    def _done(self, rank: int, comm: str) -> int:
        """How many collectives RANK has completed on a communicator, window or file."""
        communication = self._messages.communication(rank)
        calls = communication.collectives.get(comm) or communication.on_files.get(comm) or ()
        return sum(communication.event(place) <= self.at[rank] for place in calls)

    def _where(self, rank: int, call: Call) -> Communicator | None:
        """The communicator of a call, or the ranks of its window or file."""
        for given in ("local_comm", "comm", "intercomm"):
            if call.name in meetings().values() and given in call.arguments:
                return self._comm(rank, call.arguments[given])
        comm = comm_of(call.arguments)  # calls that make a file or a window have one
        if comm is None and "fh" in call.arguments:
            return self._messages.communication(rank).file(call.arguments["fh"], self.at[rank])
        if comm is None and "win" in call.arguments:
            return self._messages.communication(rank).window(call.arguments["win"])
        return self._comm(rank, comm)

    def _has_begun(self, rank: int) -> bool:
        """Has the rank called MPI before its position?"""
        items = self._messages.communication(rank).items() if rank in self.at else iter(())
        first = next(items, None)
        return first is not None and first.event <= self.at[rank]

    def _met(self, rank: int, *key: object) -> int:
        """How often RANK has made such a call by its position; KEY: as in
        `RankCommunication.met`."""
        if rank not in self.at:
            return 0
        met = self._messages.communication(rank).met
        return bisect_right(met.get(key, []), self.at[rank])

    def _stands_in(self, rank: int, name: str, where: Communicator) -> bool:
        theirs = [self._where(rank, call) for call in self.calls.get(rank, ()) if call.name == name]
        return any(there is not None and there.name == where.name for there in theirs)

    def _lacking(self, what: str, ranks: Sequence[int]) -> Need | None:
        if not ranks:
            return None
        notes = [
            f"rank {one} has ended ({self._ended[one]})" for one in ranks if one in self._ended
        ]
        return Need(what, tuple(ranks), notes=tuple(notes))
