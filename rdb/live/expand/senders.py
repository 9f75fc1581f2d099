"""Which ranks have to be replayed, and how far, so that messages are made again.

A recording made with `--record=lean` has hashes of large messages.  The sender of a message has its
bytes in memory at the event of the send, so its replay can hand them over.  That replay may need
messages itself.  They were sent earlier, so the plan is complete at some time: a set of ranks that
are replayed side by side, each from an image to its last send that is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rdb.errors import RdbError
from rdb.live.expand.made import Made
from rdb.recording import Job, RankRecording
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.communication import What
from rdb.recording.mpi.payloads import Payload, Payloads, Piece, read_payloads


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message from the memory, or the log, of its sender to the folder of its receiver."""

    event: int
    address: int
    """0: it is the first argument of a call to which the log has no answer."""
    to: int
    """Rank."""
    payload: Payload
    pieces: Sequence[Piece] = ()
    """In the sender's log: no replay is needed."""


@dataclass(slots=True)
class Run:
    """A replay of one rank."""

    recording: RankRecording
    checkpoint: int
    begins: int
    """Event of that checkpoint."""
    until: int
    deliveries: list[Delivery] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    runs: dict[int, Run] = field(default_factory=dict)
    kept: list[tuple[int, Delivery]] = field(default_factory=list)
    """Messages that the log of a sender (rank) holds."""
    lost: list[str] = field(default_factory=list)
    """Why messages cannot be made, one line each."""


class Senders:
    """Makes plans for a job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._messages = Messages(job)
        self._payloads: dict[int, Payloads] = {}
        self._orders: dict[tuple[int, object], list[int]] = {}
        self._sends: dict[int, dict[int, int]] = {}
        self._channels: dict[int, dict[tuple[int, str, int], list[Payload]]] = {}
        self._made: dict[int, Made] = {}

    def payloads(self, rank: int) -> Payloads:
        if rank not in self._payloads:
            self._payloads[rank] = read_payloads(self._job.rank(rank).path)
        return self._payloads[rank]

    def missing(self, rank: int, first: int, last: int) -> list[Payload]:
        """Messages that events FIRST to LAST of a rank received and that have not been made."""
        made = self.made(rank)
        received = self.payloads(rank).received
        start = bisect_left(received, first, key=lambda one: one.event)
        stop = bisect_left(received, last + 1, key=lambda one: one.event)
        return [one for one in received[start:stop] if not made.has(one.offset)]

    def made(self, rank: int) -> Made:
        if rank not in self._made:
            self._made[rank] = Made(self._job.rank(rank).path)
        return self._made[rank]

    def plan(self, wanted: Iterable[tuple[int, Payload]]) -> Plan:
        """A plan for messages (with the ranks that received them)."""
        plan, left = Plan(), list(wanted)
        known = {(rank, one.offset) for rank, one in left}
        while left:
            rank, payload = left.pop()
            try:
                sender, delivery = self._delivery(rank, payload)
            except RdbError as error:
                plan.lost.append(
                    f"rank {rank}, event {payload.event}: a message of {payload.size_bytes:,} "
                    f"bytes cannot be regenerated: {error.message}"
                )
                continue
            if delivery.pieces:
                plan.kept.append((sender, delivery))
                continue
            for event, last in self._extend(plan, sender, delivery):
                for one in self.missing(sender, event, last):
                    if (sender, one.offset) not in known:
                        known.add((sender, one.offset))
                        left.append((sender, one))
        for run in plan.runs.values():
            run.deliveries.sort(key=lambda one: one.event)
        return plan

    def _delivery(self, rank: int, payload: Payload) -> tuple[int, Delivery]:
        own = self._messages.communication(rank)
        sender = own.rank_of(payload.peer)
        if sender not in self._job.ranks:
            raise RdbError(f"there is no recording of rank {sender}, which sent it")
        comm = own.communicator(payload.comm, payload.event).name
        orders = self._receives(rank, (sender, comm, payload.tag))
        number = bisect_left(orders, payload.order)
        theirs = self._messages.communication(sender)
        places = theirs.sends.get((rank, comm, payload.tag), ())
        if number < len(places):
            sent = theirs.item(places[number])
            if sent.size_bytes != payload.size_bytes:
                raise RdbError(f"the recording of rank {sender} has another message in its place")
            pieces = self.payloads(sender).kept.get(self._number(sender, places[number]), ())
            if not sent.event:
                raise RdbError("it was sent before this branch began")
            return sender, Delivery(sent.event, sent.address, rank, payload, pieces)
        last = self._job.rank(sender).last_event
        if number > len(places) or last < 0:
            raise RdbError(f"the recording of rank {sender} ends before the send")
        # The sender was in the call at its end.
        return sender, Delivery(last + 1, 0, rank, payload)

    def _receives(self, rank: int, channel: tuple[int, str, int]) -> list[int]:
        """Numbers of the receives of a channel, in order; also of those that never completed,
        though the message came."""
        key = (rank, channel)
        if key not in self._orders:
            own = self._messages.communication(rank)
            orders = {own.item(one).order for one in own.receives.get(channel, ())}
            orders |= {one.order for one in self._of_channel(rank, channel)}
            self._orders[key] = sorted(orders)
        return self._orders[key]

    def _of_channel(self, rank: int, channel: tuple[int, str, int]) -> Iterable[Payload]:
        own = self._messages.communication(rank)
        if rank not in self._channels:
            self._channels[rank] = defaultdict(list)
            for one in self.payloads(rank).received:
                name = own.communicator(one.comm, one.event).name
                self._channels[rank][own.rank_of(one.peer), name, one.tag].append(one)
        return self._channels[rank].get(channel, ())

    def _number(self, rank: int, place: int) -> int:
        """The number of a send among all sends of a rank's log."""
        if not self.payloads(rank).kept:
            return -1
        if rank not in self._sends:
            sends = (
                at
                for at, one in enumerate(self._messages.communication(rank).items())
                if one.what == What.SEND
            )
            self._sends[rank] = {at: number for number, at in enumerate(sends)}
        return self._sends[rank].get(place, -1)

    def _extend(self, plan: Plan, sender: int, delivery: Delivery) -> list[tuple[int, int]]:
        """Has the sender's run deliver a message too; returns what it passes through in addition:
        first and last events whose messages it needs."""
        run, event = plan.runs.get(sender), delivery.event
        if run is None or event <= run.begins:
            recording = self._job.rank(sender)
            images = [one for one in recording.images if one.event < event]
            if not images:
                plan.lost.append(f"rank {sender} has no checkpoint before event {event}")
                return []
            image = images[-1]
        if run is None:
            plan.runs[sender] = Run(recording, image.number, image.event, event, [delivery])
            return [(image.event + 1, event - 1)]
        new = []
        run.deliveries.append(delivery)
        if event <= run.begins:
            new.append((image.event + 1, run.begins))
            run.checkpoint, run.begins = image.number, image.event
        if event > run.until:
            new.append((run.until, event - 1))
            run.until = event
        return new
