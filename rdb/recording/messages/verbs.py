"""Which work request put bytes into memory, from the logs of both sides.

Requests of a queue pair are carried out in their order (InfiniBand Architecture Specification
vol. 1, 9.5), and the software HCA says of what it writes which message of which queue pair it was:
the n-th since the two were connected is the n-th that was posted there.  Nobody else knows: what a
real HCA has written can be seen, but not whose it was.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass

from rdb.recording.log.record import Kind, Note, Record
from rdb.recording.log.verbs_calls import Call, WorkRequest, posted, verbs_call
from rdb.recording.rank import RankRecording

_NOTE_ARRIVAL = struct.Struct("<QQIIII")  # struct verbs_note_arrival
_NUMBER = struct.Struct("<I")  # of a queue pair
_NUMBERS = 1 << 24
_LOCAL = frozenset({7, 8})  # IBV_WR_LOCAL_INV, IBV_WR_BIND_MW: no message
_RESET = 0  # IBV_QPS_RESET


@dataclass(frozen=True, slots=True)
class Arrival:
    """Bytes that a peer's request wrote: queue pairs by number, the message counted from 0."""

    at_ns: int
    source: int
    dest: int
    number: int
    offset: int
    """Of the bytes that were asked for, in the message."""


@dataclass(frozen=True, slots=True)
class Post:
    """A request that became a message."""

    event: int
    at_ns: int
    request: WorkRequest


@dataclass
class _Life:
    """A queue pair between two RESETs."""

    posts: list[Post]
    peer: int = 0


def arrival_into(record: Record, addr: int, size: int) -> Arrival | None:
    """The newest request that this event let (over)write any of these bytes."""
    found = None
    for chunk in record.chunks:
        if chunk.addr or chunk.note != Note.ARRIVAL:
            continue
        start, length, source, dest, number, offset = _NOTE_ARRIVAL.unpack_from(chunk.data)
        if start < addr + size and addr < start + length:
            found = Arrival(record.at_ns, source, dest, number, offset + max(addr - start, 0))
    return found


class Posts:
    """What one process posted, by the number of the queue pair."""

    def __init__(self, recording: RankRecording) -> None:
        self._lives: dict[int, list[_Life]] = defaultdict(list)
        numbers: dict[int, int] = {}
        index = recording.index
        for place in index.of_kind(Kind.HYPERCALL):
            call = verbs_call(index.number(place))
            if call not in (Call.CREATE_QP, Call.MODIFY_QP, Call.POST_SEND):
                continue
            record = index.record(place)
            if call is Call.CREATE_QP and record.result >= 0:
                (number,) = _NUMBER.unpack(record.written(record.args[7], _NUMBER.size))
                numbers[record.result] = number
                self._lives[number].append(_Life([]))
            elif call is Call.MODIFY_QP and record.result >= 0:
                self._modified(numbers[record.args[0]], record)
            elif call is Call.POST_SEND:
                life = self._lives[numbers[record.args[0]]][-1]
                life.posts += [
                    Post(record.event, record.at_ns, one)
                    for one in posted(record)
                    if one.opcode not in _LOCAL
                ]

    def _modified(self, number: int, record: Record) -> None:
        _, _, _, state, peer = record.args
        if state == _RESET:
            self._lives[number].append(_Life([]))
        self._lives[number][-1].peer = peer or self._lives[number][-1].peer

    def of(self, arrival: Arrival) -> Post | None:
        """The request of an arrival, if it was made here: the newest that is not too late.

        A call has the time of its end, before which its message may arrive: then it is the first.
        """
        candidates = [
            post
            for life in self._lives.get(arrival.source, [])
            if life.peer == arrival.dest
            for post in life.posts[arrival.number :: _NUMBERS]
        ]
        in_time = [post for post in candidates if post.at_ns <= arrival.at_ns]
        return in_time[-1] if in_time else candidates[0] if candidates else None
