"""Queues of verbs, as a log shows them: requests and their ends."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from rdb.recording.log.record import NEVER
from rdb.recording.log.verbs_calls import WorkRequest

WC = struct.Struct("<QII")  # wr_id, status, opcode of struct ibv_wc
WC_BYTES = 48
WC_NUMBER_AT = 28  # its qp_num
NUMBER = struct.Struct("<I")
SIGNALED = 2  # enum ibv_send_flags


@dataclass
class Send:
    """A posted send request."""

    event: int
    ordinal: int
    """Number of the request in its queue pair, from 0."""
    request: WorkRequest
    place: int
    """Index in its life's `sends`."""
    number: int | None
    """Number of the message since the connection was made; None: the request sends no message."""
    completed: int = NEVER
    """The event at which its completion was queued."""
    failed: bool = False
    taken: int = NEVER
    """The peer's event at which it was carried out."""
    taken_by: int = -1
    also: list[tuple[int, int]] = field(default_factory=list)
    """Other receivers of a multicast datagram: rank and event."""
    was: int = 0
    """The value that an atomic operation found."""


@dataclass
class Receive:
    event: int
    ordinal: int
    wr_id: int
    completed: int = NEVER


@dataclass
class Receives:
    """Posted receives of a queue pair or of a shared receive queue."""

    posted: list[Receive] = field(default_factory=list)
    _open: dict[int, deque[Receive]] = field(default_factory=lambda: defaultdict(deque))

    def post(self, one: Receive) -> None:
        self.posted.append(one)
        self._open[one.wr_id].append(one)

    def complete(self, wr_id: int, event: int) -> None:
        """Completes the oldest open receive with this wr_id."""
        if self._open[wr_id]:
            self._open[wr_id].popleft().completed = event

    def outstanding(self, event: int) -> Iterator[Receive]:
        return (one for one in self.posted if one.event <= event < one.completed)


@dataclass
class Life:
    """A queue pair from one RESET to the next."""

    begun: int
    peer: int = 0
    connected: int = NEVER
    ended: int = NEVER
    sends: list[Send] = field(default_factory=list)
    receives: Receives = field(default_factory=Receives)
    messages: int = 0
    before: int = 0
    """In a branch: requests that the restart itself made before `sends`."""
    failed: int = NEVER
    """The event of the first completion with an error."""
    other: Life | None = None
    other_rank: int = -1
    alone: bool = False
    """In a branch: the peer's queue pair was gone at its beginning."""
    taken: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Number of the peer's message -> event that carried it out, value that an atomic found."""
    polled: list[int] = field(default_factory=list)
    """Events at which completions of receives were polled, if the log has no notes."""
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    """Event, and number of the message whose bytes were written before it."""
    _all_done: int = 0

    @cached_property
    def heard(self) -> list[int]:
        """For each send, the event by which its owner knew it was done: its or a later
        completion.
        """
        events: list[int] = []
        for send in reversed(self.sends):
            own = NEVER if send.failed else send.completed
            events.append(min(own, events[-1]) if events else own)
        return events[::-1]

    def complete(self, wr_id: int, event: int) -> None:
        """Completes the oldest open send with this wr_id, preferably a signaled one, in order."""
        done = None
        for at in range(self._all_done, len(self.sends)):
            one = self.sends[at]
            if one.request.wr_id == wr_id:
                done = done or one
                if one.request.flags & SIGNALED:
                    done = one
                    break
        if done is not None:
            done.completed = event
            self._all_done = done.place + 1

    def heard_of(self, send: Send) -> int:
        return self.heard[send.place]


@dataclass
class Pair:
    handle: int
    number: int
    type: int
    send_cq: int
    recv_cq: int
    srq: int
    lives: list[Life]
    posted: int = 0
    received: int = 0
    was_signaled: bool = False
    """Whether the branch's parent knew that all requests are signaled."""

    @property
    def all_signaled(self) -> bool:
        """Whether sends without IBV_SEND_SIGNALED had completions, as far as the log shows."""
        if self.was_signaled:
            return True
        sends = (one for life in self.lives for one in life.sends)
        return any(
            not one.request.flags & SIGNALED and one.completed != NEVER and not one.failed
            for one in sends
        )

    @property
    def life(self) -> Life:
        return self.lives[-1]

    def at(self, event: int) -> Life | None:
        found = [one for one in self.lives if one.begun <= event < one.ended]
        return found[-1] if found else None


@dataclass
class CompletionQueue:
    """As the HCA has it: entries, and the notifications of its channel."""

    cookie: int
    entries: deque[bytes] = field(default_factory=deque)
    armed: bool = False
    solicited_only: bool = False
    events: int = 0

    def push(self, entry: bytes, solicited: bool) -> None:
        self.entries.append(entry)
        if self.armed and (not self.solicited_only or solicited or WC.unpack_from(entry)[1]):
            self.armed = False
            self.events += 1

    def forget(self, number: int) -> None:
        self.entries = deque(one for one in self.entries if qp_number(one) != number)


def qp_number(entry: bytes) -> int:
    (number,) = NUMBER.unpack_from(entry, WC_NUMBER_AT)
    return int(number)
