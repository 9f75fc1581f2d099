"""Queues of verbs as a log tells them: requests, and what became of each."""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from rdb.recording.log.verbs_calls import WorkRequest

WC = struct.Struct("<QII")  # wr_id, status, opcode of struct ibv_wc
WC_BYTES = 48
WC_NUMBER_AT = 28  # its qp_num
NUMBER = struct.Struct("<I")
SIGNALED = 2  # enum ibv_send_flags
NEVER = 1 << 62


@dataclass
class Send:
    """A posted send request."""

    event: int
    ordinal: int
    """The how-manieth of its queue pair."""
    request: WorkRequest
    place: int
    """In its queue pair's life."""
    number: int | None
    """Of the message since the queue pair was connected; None: it makes none."""
    completed: int = NEVER
    """The event at which its completion was queued."""
    failed: bool = False
    taken: int = NEVER
    """The event of the peer at which it was carried out."""
    taken_by: int = -1
    also: list[tuple[int, int]] = field(default_factory=list)
    """Others of a multicast group that it was sent to, and their events."""
    was: int = 0
    """What an atomic found then."""


@dataclass
class Receive:
    event: int
    ordinal: int
    wr_id: int
    completed: int = NEVER


@dataclass
class Receives:
    """Of a queue pair or a shared queue."""

    posted: list[Receive] = field(default_factory=list)
    _open: dict[int, deque[Receive]] = field(default_factory=lambda: defaultdict(deque))

    def post(self, one: Receive) -> None:
        self.posted.append(one)
        self._open[one.wr_id].append(one)

    def complete(self, wr_id: int, event: int) -> None:
        """The oldest of that name."""
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
    """Of a branch: requests that the restart itself has made before these."""
    failed: int = NEVER
    """The event of the first completion with an error."""
    other: Life | None = None
    other_rank: int = -1
    alone: bool = False
    """Of a branch: the peer's queue pair was gone when it began."""
    taken: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Messages of the peer by number: the event that carried it out, what an atomic found."""
    polled: list[int] = field(default_factory=list)
    """Events at which completions of receives were polled, if there are no notes."""
    arrivals: list[tuple[int, int]] = field(default_factory=list)
    """Event and number of what was written before that."""
    _all_done: int = 0

    @cached_property
    def heard(self) -> list[int]:
        """Of each send the event by which it was known to be done: by its completion or a later."""
        events: list[int] = []
        for send in reversed(self.sends):
            own = NEVER if send.failed else send.completed
            events.append(min(own, events[-1]) if events else own)
        return events[::-1]

    def complete(self, wr_id: int, event: int) -> None:
        """The oldest of that name, one that has asked for it if there is; in their order."""
        done = None
        for one in islice(self.sends, self._all_done, None):
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
    """It is known from what this is a branch of."""

    @property
    def all_signaled(self) -> bool:
        """As far as the log shows it: what did not ask for a completion got one."""
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
    """As the HCA has it: entries, and what its channel was told."""

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
