"""The message queues of ranks at their positions: what is posted, on its way, and received.

Each rank has a position of its own.  A message is on its way if its send is not after the position
of its sender, and its receive is after the position of its receiver.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rdb.recording.log.describe import ANY as ANY
from rdb.recording.log.describe import PROC_NULL, mpi_functions
from rdb.recording.messages.matching import RECEIVES, SENDS
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.wait_graph import Call
from rdb.recording.mpi.communication import Channel, Communicator, Item, RankCommunication, What


@dataclass(frozen=True)
class Posted:
    """A receive that was posted and has not been completed; source or tag -1: any.

    A blocking receive without an answer has request 0.
    """

    rank: int
    event: int
    source: int
    """A rank of the job, if the communicator's members are known."""
    tag: int
    comm: str
    request: int
    count: int
    """Elements that the buffer can hold."""

    def takes(self, source: int, tag: int, comm: str) -> bool:
        return self.comm == comm and self.source in (ANY, source) and self.tag in (ANY, tag)


@dataclass(frozen=True)
class Message:
    """One message; `received_at` is None while it is on its way.

    The message of a blocking send without an answer has `elements`, and size 0.
    """

    source: int
    dest: int
    tag: int
    comm: str
    size_bytes: int
    sent_at: int
    """Event of the sender; `received_at`: event of the receiver."""
    received_at: int | None
    expected: bool = False
    """It is on its way, and a receive that could take it has been posted."""
    elements: int | None = None


@dataclass(frozen=True)
class Queues:
    """The queues of one rank at an event."""

    rank: int
    event: int
    posted: tuple[Posted, ...]
    incoming: tuple[Message, ...]
    """Sent to the rank and not received, in the order of each channel."""
    outgoing: tuple[Message, ...]
    """Sent by the rank and not received."""
    received: tuple[Message, ...]
    """The newest ones last."""


def queues(
    messages: Messages,
    at: Mapping[int, int],
    ranks: list[int],
    newest: int = 8,
    asked: Mapping[int, Call] | None = None,
) -> list[Queues]:
    """The queues of RANKS at the positions AT (rank -> event of all ranks of the job).

    NEWEST: how many received messages are listed.  ASKED: calls of ranks that have no answer.
    """
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
    for item in communication.posting(event):
        if item.what == What.POSTED:
            pending[item.request] = item
        elif item.what == What.PREPARED:
            prepared[item.request] = item
        elif item.what == What.STARTED and item.request in prepared:
            pending[item.request] = prepared[item.request]._replace(event=item.event)
        elif item.what == What.RECV or (item.what == What.CANCELLED and item.order):
            pending.pop(item.request, None)
    found = []
    for item in pending.values():
        if item.peer == PROC_NULL:  # completes at once without a message (MPI-4.0, 3.10)
            continue
        comm = communication.communicator(item.comm, item.event)
        source = _member(comm, item.peer)
        found.append(
            Posted(rank, item.event, source, item.tag, comm.name, item.request, item.size_bytes)
        )
    return found


def never_completed(communication: RankCommunication, rank: int) -> list[tuple[Posted, bool]]:
    """The receives that an ended rank never completed, each with whether its message had come by
    MPI_Finalize."""
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
    """The blocking receive in which RANK waits after EVENT."""
    name = RECEIVES.get(call.name)
    if name is None or call.arguments["source"] == PROC_NULL:
        return []
    comm = communication.communicator(call.arguments["comm"], event)
    source = _member(comm, call.arguments["source"])
    tag = call.arguments[name]
    count = call.arguments["recvcount" if call.name == "MPI_Sendrecv" else "count"]
    return [Posted(rank, event + 1, source, tag, comm.name, 0, count)]


def _blocking_send(
    messages: Messages, at: Mapping[int, int], rank: int, call: Call
) -> list[Message]:
    """The message of the blocking send in which RANK waits, unless it has been received."""
    name = SENDS.get(call.name)
    if name is None or call.arguments["dest"] == PROC_NULL:
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
    """Messages that SOURCE had sent to DEST, and DEST had not received, at their positions."""
    sender, receiver = messages.communication(source), messages.communication(dest)
    found = []
    for (to, comm, tag), sends in sender.sends.items():
        if to != dest:
            continue
        got = receiver.events(receiver.receives.get((source, comm, tag), array("Q")))
        sent = bisect_right(sends, at[source], key=sender.event)
        late = [number for number, event in enumerate(got[:sent]) if event > at[dest]]
        for number in (*late, *range(len(got), sent)):
            item = sender.item(sends[number])
            found.append(Message(source, dest, tag, comm, item.size_bytes, item.event, None))
    return sorted(found, key=lambda one: one.sent_at)


def _received(messages: Messages, at: Mapping[int, int], rank: int, newest: int) -> list[Message]:
    """The last messages that RANK received, by its events."""
    receiver = messages.communication(rank)
    found: list[tuple[int, int, int]] = []
    """Event, number of the channel, number of the message in it."""
    channels = [channel for channel in receiver.receives if channel[0] in at]
    for which, (source, comm, tag) in enumerate(channels):
        sends = messages.communication(source).sends.get((rank, comm, tag), ())
        events = receiver.events(receiver.receives[source, comm, tag])[: len(sends)]
        own = sorted((event, number) for number, event in enumerate(events) if event <= at[rank])
        found += [(event, which, number) for event, number in own[max(len(own) - newest, 0) :]]
    return [
        _received_one(messages, rank, channels[which], number)
        for _, which, number in sorted(found)[max(len(found) - newest, 0) :]
    ]


def _received_one(messages: Messages, rank: int, channel: Channel, number: int) -> Message:
    source, comm, tag = channel
    sender, receiver = messages.communication(source), messages.communication(rank)
    got = receiver.item(receiver.receives[channel][number])
    sent = sender.event(sender.sends[rank, comm, tag][number])
    return Message(source, rank, tag, comm, got.size_bytes, sent, got.event)
