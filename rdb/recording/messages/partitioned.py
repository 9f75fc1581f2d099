"""Partitioned messages of a job (MPI-4.0, chapter 4), as far as they order its ranks' events.

The n-th request that a rank has prepared to send to another in a communicator with a tag belongs to
the n-th request prepared there to receive from it.  Each pair of starts is a transfer.  At a cut, a
partition has arrived only if it was ready at the sender; a transfer is complete at both ranks or at
neither, and the requests are freed at both or at neither.  So the sender still has what is ready.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import Note, Record, signed32
from rdb.recording.mpi.communication import Communicator, RankCommunication
from rdb.recording.store import Job

Need = tuple[int, int, int, int]
"""(rank, event, other rank, its event): the first event needs the second."""

_PREPARES = {"MPI_Psend_init": True, "MPI_Precv_init": False}
_READIES = ("MPI_Pready", "MPI_Pready_range", "MPI_Pready_list")
_NOTED = (
    *("MPI_Start", "MPI_Startall", "MPI_Request_free", "MPI_Wait", "MPI_Waitall", "MPI_Waitany"),
    *("MPI_Waitsome", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"),
)
_NOTE = re.compile(rb"partitioned=(\d+) (started|complete|freed)\0?\Z")
_BEGUN = re.compile(
    r"partitioned (send|receive) request=(\d+) comm=(\d+) peer=(-?\d+) tag=(\d+) parts=(\d+) "
    r"started=([01]) settled=([01]*)"
)
_ID = 0xFFFFFFFF


@dataclass
class _Transfer:
    started: int = 0
    ready: dict[int, int] = field(default_factory=dict)
    """At the sender: partition -> the event that made it ready."""
    lists: int | None = None
    """The last MPI_Pready_list: the log does not say which partitions it made ready."""
    arrived: dict[int, int] = field(default_factory=dict)
    """At the receiver: partition -> the event that found it arrived."""
    complete: int | None = None

    def ready_at(self, part: int) -> int | None:
        return self.ready.get(part, self.lists)


@dataclass
class _End:
    """A partitioned request of a rank."""

    rank: int
    parts: int
    made: int = 0
    sends: bool = False
    peer: int = -1
    partners: list[_End] = field(default_factory=list)
    """The requests of the channel at the other rank; the one with index `number` belongs to
    this."""
    number: int = 0
    transfers: list[_Transfer] = field(default_factory=list)
    freed: int | None = None


_Channel = tuple[int, int, str, int]
"""Sender, receiver, the communicator by a name that all ranks share, the tag."""


@dataclass(frozen=True)
class Lacks:
    """What a request waits for."""

    rank: int
    what: str
    sends: bool
    buffered: bool = False
    """MPI may have buffered the message, so the sender need not wait."""


class Partitioned:
    """The partitioned messages of a job."""

    def __init__(
        self, job: Job, communications: Mapping[int, RankCommunication], never: int
    ) -> None:
        self._never = never
        self._sends: dict[_Channel, list[_End]] = defaultdict(list)
        self._receives: dict[_Channel, list[_End]] = defaultdict(list)
        self._requests: dict[tuple[int, int], list[_End]] = defaultdict(list)
        for rank in job.ranks:
            self._read(job, rank, communications[rank])

    def together(self) -> Iterator[dict[int, int]]:
        """Pairs (rank -> event) of which a cut has both or neither."""
        for send, receive in self._pairs():
            if send.rank != receive.rank:
                for one, other in self._ends(send, receive):
                    yield {send.rank: one, receive.rank: other}

    def needs(self) -> Iterator[Need]:
        for send, receive in self._pairs():
            if send.rank == receive.rank:
                for both in self._ends(send, receive):
                    yield send.rank, min(both), send.rank, max(both)
            for number, transfer in enumerate(receive.transfers):
                sent = send.transfers[number] if number < len(send.transfers) else _Transfer()
                for part, event in transfer.arrived.items():
                    for of in _parts_of(part, send.parts, receive.parts):
                        ready = sent.ready_at(of)
                        until = self._never if ready is None else ready
                        yield receive.rank, event, send.rank, until

    def active(self, rank: int, request: int, at: Mapping[int, int]) -> bool:
        """Has the request been started and not been completed, at the positions AT?"""
        _, begun = self._begun_by(rank, request, at)
        return bool(begun) and (begun[-1].complete or self._never) > at[rank]

    def _begun_by(
        self, rank: int, request: int, at: Mapping[int, int]
    ) -> tuple[_End | None, list[_Transfer]]:
        ends = [one for one in self._requests[(rank, request)] if one.made <= at[rank]]
        if not ends:
            return None, []
        return ends[-1], [one for one in ends[-1].transfers if one.started <= at[rank]]

    def lacks(self, rank: int, request: int, at: Mapping[int, int]) -> Lacks | None:
        """What an active request waits for at the positions AT; None: nothing."""
        own, begun = self._begun_by(rank, request, at)
        if own is None or not begun:
            return None
        theirs = None
        there = own.partners[own.number] if own.number < len(own.partners) else None
        if there is not None and len(there.transfers) >= len(begun):
            theirs = there.transfers[len(begun) - 1]
            theirs = theirs if theirs.started <= at.get(own.peer, -1) else None
        sending, sender = (begun[-1], own) if own.sends else (theirs, there)
        if sending is None or sender is None:
            return Lacks(own.peer, "MPI_Start of the partitioned send", own.sends)
        until = at.get(sender.rank, -1)
        for part in range(sender.parts):
            ready = sending.ready_at(part)
            if ready is None or ready > until:
                return Lacks(sender.rank, f"MPI_Pready of partition {part}", own.sends)
        if theirs is None:
            return Lacks(own.peer, "MPI_Start of the partitioned receive", True, True)
        return None

    def _pairs(self) -> Iterator[tuple[_End, _End]]:
        for channel, sends in self._sends.items():
            yield from zip(sends, self._receives[channel], strict=False)

    def _ends(self, send: _End, receive: _End) -> Iterator[tuple[int, int]]:
        count = max(len(send.transfers), len(receive.transfers))
        for number in range(count):
            both = [
                one.transfers[number].complete if number < len(one.transfers) else None
                for one in (send, receive)
            ]
            yield from self._known(both[0], both[1])
        yield from self._known(send.freed, receive.freed)

    def _known(self, one: int | None, other: int | None) -> Iterator[tuple[int, int]]:
        if one is not None or other is not None:
            yield (
                self._never if one is None else one,
                self._never if other is None else other,
            )

    # ---- a rank's log ----

    def _read(self, job: Job, rank: int, known: RankCommunication) -> None:
        recording = job.rank(rank)
        ends = dict(self._begun(rank, known))
        wanted = _numbers()
        making = frozenset(nr for nr, name in wanted.items() if name in _PREPARES)
        if not ends and not recording.index.of_hypercalls(making):
            return
        for place in recording.index.of_hypercalls(frozenset(wanted)):
            record = recording.index.record(place)
            name = wanted[record.nr]
            if name in _NOTED:
                _follow(record, ends)
            elif not record.result:
                self._call(rank, known, name, record, ends)

    def _begun(self, rank: int, known: RankCommunication) -> Iterator[tuple[int, _End]]:
        """The requests with which a branch began."""
        for line in known.begun_with():
            if found := _BEGUN.match(line):
                comm, peer, tag, parts = map(int, found.group(3, 4, 5, 6))
                sends = found[1] == "send"
                end = self._prepared(rank, known.communicator(comm), sends, peer, tag, parts)
                if found[7] == "1":
                    settled = {at: 0 for at, one in enumerate(found[8]) if one == "1"}
                    end.transfers.append(
                        _Transfer(ready=settled) if sends else _Transfer(arrived=settled)
                    )
                yield int(found[2]), end

    def _prepared(
        self, rank: int, comm: Communicator, sends: bool, peer: int, tag: int, parts: int
    ) -> _End:
        end = _End(rank, parts, sends=sends)
        if comm.members is not None:
            peer = comm.members[peer] if 0 <= peer < len(comm.members) else -1
        if peer >= 0:
            channel = (*((rank, peer) if sends else (peer, rank)), comm.name, tag)
            ends = (self._sends if sends else self._receives)[channel]
            end.peer, end.number = peer, len(ends)
            end.partners = (self._receives if sends else self._sends)[channel]
            ends.append(end)
        return end

    def _call(
        self, rank: int, known: RankCommunication, name: str, record: Record, ends: dict[int, _End]
    ) -> None:
        args = record.args
        if name in _PREPARES:
            (handle,) = struct.unpack("<Q", record.written(args[8], 8))
            comm = known.communicator(args[6] & _ID, record.event)
            peer, tag = signed32(args[4]), signed32(args[5])
            end = self._prepared(rank, comm, _PREPARES[name], peer, tag, signed32(args[1]))
            end.made = record.event
            ends[handle & _ID] = end
            self._requests[(rank, handle & _ID)].append(end)
            return
        request = args[0] if name == "MPI_Parrived" else args[1 if name == "MPI_Pready" else 2]
        asked = ends.get(request & _ID)
        if asked is None or not asked.transfers:
            return
        now = asked.transfers[-1]
        if name == "MPI_Parrived":
            if now.complete is None and any(record.written(args[2], 4)):
                now.arrived.setdefault(signed32(args[1]), record.event)
        elif name == "MPI_Pready_list":
            now.lists = record.event
        else:
            last = args[0] if name == "MPI_Pready" else args[1]
            for part in range(signed32(args[0]), signed32(last) + 1):
                now.ready[part] = record.event


def _follow(record: Record, ends: Mapping[int, _End]) -> None:
    for chunk in record.chunks:
        found = (
            _NOTE.match(bytes(chunk.data)) if not chunk.addr and chunk.note == Note.TEXT else None
        )
        end = ends.get(int(found[1])) if found else None
        if found is None or end is None:
            continue
        if found[2] == b"started":
            end.transfers.append(_Transfer(started=record.event))
        elif found[2] == b"freed":
            end.freed = record.event
        elif end.transfers:
            end.transfers[-1].complete = record.event


def _parts_of(part: int, sent: int, received: int) -> range:
    """The sender's partitions that overlap one of the receiver's; their numbers may differ."""
    return range(part * sent // received, -(-(part + 1) * sent // received))


@cache
def _numbers() -> dict[int, str]:
    wanted = (*_PREPARES, *_READIES, *_NOTED, "MPI_Parrived")
    return {
        int(one["nr"]): str(one["name"]).removesuffix("_c")
        for one in mpi_functions()
        if str(one["name"]).removesuffix("_c") in wanted
    }
