"""Which send belongs to which receive, from the logs of both ranks.

Messages of one sender do not overtake each other (MPI-3.1, 3.5 "Order"): the n-th message that a
rank sent to another in a communicator with a tag is the n-th that was received there, in the order
in which the receives were posted.  rdb adds nothing to messages.  A receive that took a message but
whose completion is not recorded is not seen, and the next receive would be matched with its
message.  Sizes are compared, which finds most such errors.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.recording.log.record import NEVER, Receive, Record
from rdb.recording.messages.partitioned import Partitioned
from rdb.recording.messages.verbs import Arrival, Posts, arrivals_into
from rdb.recording.mpi.communication import Channel, Item, RankCommunication
from rdb.recording.rank import RankRecording
from rdb.recording.store import Job

_COARSE_NS = 1000  # durations may be cut to whole microseconds


@dataclass(frozen=True, slots=True)
class Send:
    """The send of a message: rank, event, address of its bytes (0: none, or not contiguous)."""

    rank: int
    event: int
    address: int


@dataclass(frozen=True, slots=True)
class Came:
    """A message that wrote the bytes asked for, by MPI (`received`) or by verbs (`arrival`)."""

    how: str
    offset: int
    """Offset of those bytes in the message."""
    received: Receive | None = None
    arrival: Arrival | None = None


class RankMessages:
    """What one rank sent and received, by channel, in MPI's order."""

    def __init__(self, communication: RankCommunication) -> None:
        self.sends = _all(communication, communication.sends)
        self.receives = _all(communication, communication.receives)


def _all(
    communication: RankCommunication, ways: Mapping[Channel, array[int]]
) -> dict[Channel, list[Receive]]:
    return {
        channel: [_receive(communication.item(place)) for place in places]
        for channel, places in ways.items()
    }


def _receive(item: Item) -> Receive:
    return Receive(
        event=item.event,
        source=item.peer,
        tag=item.tag,
        comm=item.comm,
        request=item.request,
        size_bytes=item.size_bytes,
        order=item.order,
        address=item.address,
    )


class Messages:
    """Matches sends and receives of a job; a rank's log is read when it is needed first, unless
    it is among KNOWN.

    Methods raise RdbError for a rank whose log has lost its beginning (--keep).
    """

    def __init__(self, job: Job, known: Mapping[int, RankCommunication] | None = None) -> None:
        self._job = job
        self._known: dict[int, RankMessages] = {}
        self._posts: dict[int, Posts] = {}
        self._communications: dict[int, RankCommunication] = dict(known or {})
        self._hosts: dict[int, str | None] = {}
        self._timed: dict[int, RankRecording] = {}

    @property
    def ranks(self) -> list[int]:
        return self._job.ranks

    def on_host_of(self, rank: int) -> list[int]:
        """The other ranks on the same host, which have the same clock."""
        if not self._hosts:
            self._hosts = {one: self._job.rank(one).glance().meta.get("host") for one in self.ranks}
        host = self._hosts.get(rank)
        return [one for one in self.ranks if one != rank and host and self._hosts[one] == host]

    def called_ns(self, rank: int, event: int) -> int | None:
        """Lower bound, at most 1 us early, of the time when the call of an event was made; None:
        not known."""
        if rank not in self._timed:
            self._timed[rank] = self._whole(rank)
        record: Record = self._timed[rank].event(event)
        took = record.took_ns
        return None if took is None else record.at_ns - took - _COARSE_NS

    def partitioned(self) -> Partitioned:
        known = {rank: self.communication(rank) for rank in self.ranks}
        return Partitioned(self._job, known, NEVER)

    def came(self, rank: int, event: int, addr: int, size: int) -> Came | None:
        """The message with which EVENT of RANK wrote any of these bytes; None: it wrote none."""
        recording = self._job.rank(rank)
        received = recording.receive_into(event, addr, size)
        if received is not None:
            return Came(f"received from rank {received.source}", received.offset, received)
        *_, arrival = (None, *arrivals_into(recording.event(event), addr, size))
        if arrival is None:
            return None
        how = f"written by queue pair {arrival.source:#08x}, message {arrival.number}"
        return Came(how, arrival.offset, arrival=arrival)

    def sent(self, rank: int, came: Came) -> Send:
        """The send of a message that RANK received.  Raises RdbError if it is not known."""
        if came.received is not None:
            return self.sent_as(rank, came.received)
        assert came.arrival is not None
        found = []
        for one in self._job.ranks:
            post = self.posts(one).of(came.arrival)
            if post is not None:
                found.append(Send(one, post.event, post.request.address))
        if len(found) != 1:
            raise RdbError(f"{len(found)} ranks of the job have posted such a request")
        return found[0]

    def found(self, rank: int) -> Iterator[tuple[int, int, int]]:
        """Messages of ranks of the job that a probe of RANK has found.

        The probe's event, the sender, the event of the send (NEVER: its log lacks it).
        """
        own = self.communication(rank)
        for channel, places in own.probed.items():
            source, comm, tag = channel
            if source not in self.ranks:
                continue
            sender = self.communication(source)
            sends = sender.sends.get((rank, comm, tag), ())
            orders = [own.item(place).order for place in own.receives.get(channel, ())]
            for place in places:
                number = bisect_left(orders, own.item(place).order)
                sent = sender.event(sends[number]) if number < len(sends) else NEVER
                yield own.event(place), source, sent

    def posts(self, rank: int) -> Posts:
        if rank not in self._posts:
            self._posts[rank] = Posts(self._whole(rank))
        return self._posts[rank]

    def _whole(self, rank: int) -> RankRecording:
        recording: RankRecording = self._job.rank(rank)
        if recording.log_begins:
            raise RdbError(f"the beginning of rank {recording.name} was dropped (--keep)")
        return recording

    def of(self, rank: int) -> RankMessages:
        if rank not in self._known:
            self._known[rank] = RankMessages(self.communication(rank))
        return self._known[rank]

    def communication(self, rank: int) -> RankCommunication:
        if rank not in self._communications:
            self._communications[rank] = self._read(rank)
        return self._communications[rank]

    def _read(self, rank: int) -> RankCommunication:
        recording = self._whole(rank)
        return RankCommunication(recording.path, recording.world_first, rank)

    def sent_as(self, rank: int, received: Receive) -> Send:
        """The send of an MPI message that RANK received.  Raises RdbError if it is not known."""
        if received.source < 0:
            raise RdbError("its sender is not a rank of this job")
        (source, comm, tag), number = self.communication(rank).numbered(received)
        sends = self.of(source).sends.get((rank, comm, tag), [])
        if number >= len(sends):
            raise RdbError(f"the recording of rank {source} ends before the send")
        send = sends[number]
        if not received.is_of(send):
            raise RdbError(
                f"{received.size_bytes} bytes were received, but rank {source} sent "
                f"{send.size_bytes} at event {send.event}: a receive is missing in the recording"
            )
        return Send(source, send.event, send.address)
