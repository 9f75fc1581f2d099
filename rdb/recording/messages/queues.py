"""The message queues of ranks where they stand: what is posted, on its way, and received.

Each rank stands at an event of its own.  A message is on its way if its send is not after where its
sender stands, and its receive is not before where its receiver does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rdb.recording.log.describe import mpi_functions
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.communication import Communicator, Item, RankCommunication, What

if TYPE_CHECKING:
    from rdb.recording.messages.waiting import Call

_PROC_NULL = -2
_RECEIVES = {  # that block: their parameters of tag and count
    "MPI_Recv": ("tag", "count"),
    "MPI_Sendrecv": ("recvtag", "recvcount"),
    "MPI_Sendrecv_replace": ("recvtag", "count"),
}

_SENDS = {  # that may wait for their receiver, too
    "MPI_Send": "tag",
    "MPI_Ssend": "tag",
    "MPI_Rsend": "tag",
    "MPI_Sendrecv": "sendtag",
    "MPI_Sendrecv_replace": "sendtag",
}

ANY = -1
"""MPI_ANY_SOURCE and MPI_ANY_TAG as the stub has them."""


@dataclass(frozen=True)
class Posted:
    """A receive that was posted and has not been completed; -1: from any rank, of any tag.

    A blocking one, in which its rank waits, has no request: 0.
    """

    rank: int
    event: int
    source: int
    """A rank of the job, if the communicator's members are known."""
    tag: int
    comm: str
    request: int
    count: int
    """Elements that there is room for."""

    def takes(self, source: int, tag: int, comm: str) -> bool:
        return self.comm == comm and self.source in (ANY, source) and self.tag in (ANY, tag)


@dataclass(frozen=True)
class Message:
    """One message; `received_at` is None while it is on its way.

    One that its sender still waits with, in a send that blocks, has `elements`, and no size.
    """

    source: int
    dest: int
    tag: int
    comm: str
    size_bytes: int
    sent_at: int
    """The event of its sender, and of its receiver."""
    received_at: int | None
    expected: bool = False
    """On its way: a receive that could take it has been posted."""
    elements: int | None = None


@dataclass(frozen=True)
class Queues:
    """Those of one rank at an event."""

    rank: int
    event: int
    posted: tuple[Posted, ...]
    incoming: tuple[Message, ...]
    """Sent to it and not received, in the order of each channel."""
    outgoing: tuple[Message, ...]
    """Sent by it and not received."""
    received: tuple[Message, ...]
    """The newest ones last."""


def queues(
    messages: Messages,
    at: Mapping[int, int],
    ranks: list[int],
    newest: int = 8,
    asked: Mapping[int, Call] | None = None,
) -> list[Queues]:
    """Of RANKS, when each rank of the job stands at the event that AT says; NEWEST received.
    ASKED: the calls that ranks are in, which have had no answer."""
    calls = asked or {}
    waits = [
        one for rank, call in calls.items() for one in _blocking_send(messages, at, rank, call)
    ]
    return [_queues(messages, at, rank, newest, calls.get(rank), waits) for rank in ranks]


def _queues(
    messages: Messages,
    at: Mapping[int, int],
    rank: int,
    newest: int,
    call: Call | None,
    waits: Sequence[Message],
) -> Queues:
    posted = posted_receives(messages.communication(rank), rank, at[rank])
    if call is not None:
        posted += _blocking_receive(messages.communication(rank), rank, at[rank], call)
    incoming = [one for source in at for one in unreceived(messages, at, source, rank)]
    incoming = [
        replace(one, expected=any(post.takes(one.source, one.tag, one.comm) for post in posted))
        for one in (*incoming, *(one for one in waits if one.dest == rank))
    ]
    outgoing = [one for dest in at for one in unreceived(messages, at, rank, dest)]
    outgoing += [one for one in waits if one.source == rank]
    return Queues(
        rank,
        at[rank],
        tuple(posted),
        tuple(incoming),
        tuple(sorted(outgoing, key=lambda one: one.sent_at)),
        tuple(_received(messages, at, rank, newest)),
    )


def posted_receives(communication: RankCommunication, rank: int, event: int) -> list[Posted]:
    """Nonblocking and persistent receives that RANK had posted, and not completed, by EVENT."""
    pending: dict[int, Item] = {}
    prepared: dict[int, Item] = {}  # persistent ones
    for place in range(communication.count):
        item = communication.item(place)
        if item.event > event:
            break
        if item.what == What.POSTED:
            pending[item.request] = item
        elif item.what == What.PREPARED:
            prepared[item.request] = item
        elif item.what == What.STARTED and item.request in prepared:
            pending[item.request] = prepared[item.request]._replace(event=item.event)
        elif item.request and (
            item.what == What.RECV or (item.what == What.CANCELLED and item.order)
        ):
            pending.pop(item.request, None)
    found = []
    for item in pending.values():
        comm = communication.communicator(item.comm, item.event)
        source = _member(comm, item.peer)
        found.append(
            Posted(rank, item.event, source, item.tag, comm.name, item.request, item.size_bytes)
        )
    return found


def never_completed(communication: RankCommunication, rank: int) -> list[tuple[Posted, bool]]:
    """Receives of a rank that has ended which it never completed, and if their message was there
    at MPI_Finalize."""
    finalize = next(int(one["nr"]) for one in mpi_functions() if one["name"] == "MPI_Finalize")
    came = [one for one in communication.items() if one.nr == finalize and one.what == What.RECV]
    before = posted_receives(communication, rank, came[0].event - 1) if came else []
    late = {one.request for one in came}
    last = sys.maxsize
    found = [(one, True) for one in before if one.request in late]
    return found + [(one, False) for one in posted_receives(communication, rank, last)]


def _blocking_receive(
    communication: RankCommunication, rank: int, event: int, call: Call
) -> list[Posted]:
    """The receive that RANK waits in, after EVENT."""
    names = _RECEIVES.get(call.name)
    if names is None or call.arguments["source"] == _PROC_NULL:
        return []
    comm = communication.communicator(call.arguments["comm"], event)
    source = _member(comm, call.arguments["source"])
    tag, count = (call.arguments[name] for name in names)
    return [Posted(rank, event + 1, source, tag, comm.name, 0, count)]


def _blocking_send(
    messages: Messages, at: Mapping[int, int], rank: int, call: Call
) -> list[Message]:
    """What RANK waits with, unless its receiver has it already."""
    name = _SENDS.get(call.name)
    if name is None or call.arguments["dest"] == _PROC_NULL:
        return []
    communication = messages.communication(rank)
    comm = communication.communicator(call.arguments["comm"], at[rank])
    dest, tag = _member(comm, call.arguments["dest"]), call.arguments[name]
    if dest in at:
        receiver = messages.communication(dest)
        receives = receiver.receives.get((rank, comm.name, tag), ())
        received = sum(receiver.event(place) <= at[dest] for place in receives)
        if received > len(communication.sends.get((dest, comm.name, tag), ())):
            return []
    count = call.arguments["sendcount" if call.name == "MPI_Sendrecv" else "count"]
    return [Message(rank, dest, tag, comm.name, 0, at[rank] + 1, None, elements=count)]


def _member(comm: Communicator, rank: int) -> int:
    """The rank of the job, if the communicator's members are known."""
    if comm.members is not None and 0 <= rank < len(comm.members):
        return comm.members[rank]
    return rank


def unreceived(messages: Messages, at: Mapping[int, int], source: int, dest: int) -> list[Message]:
    """What SOURCE had sent to DEST, and DEST not received, where both stand."""
    sender, receiver = messages.communication(source), messages.communication(dest)
    found = []
    for (to, comm, tag), sends in sender.sends.items():
        if to != dest:
            continue
        receives = receiver.receives.get((source, comm, tag), ())
        for number, send in enumerate(sends):
            if sender.event(send) > at[source]:
                break
            if number < len(receives) and receiver.event(receives[number]) <= at[dest]:
                continue
            item = sender.item(send)
            found.append(Message(source, dest, tag, comm, item.size_bytes, item.event, None))
    return sorted(found, key=lambda one: one.sent_at)


def _received(messages: Messages, at: Mapping[int, int], rank: int, newest: int) -> list[Message]:
    """The last messages that RANK received, by its events."""
    receiver = messages.communication(rank)
    found: list[Message] = []
    for (source, comm, tag), receives in receiver.receives.items():
        if source not in at:
            continue
        sends = messages.communication(source).sends.get((rank, comm, tag), ())
        for send, receive in zip(sends, receives, strict=False):
            event = receiver.event(receive)
            if event <= at[rank]:
                sender = messages.communication(source)
                found.append(
                    Message(
                        source,
                        rank,
                        tag,
                        comm,
                        receiver.item(receive).size_bytes,
                        sender.event(send),
                        event,
                    )
                )
    found.sort(key=lambda one: one.received_at or 0)
    return found[-newest:] if newest else []
