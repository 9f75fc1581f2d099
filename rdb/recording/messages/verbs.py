"""Which work request wrote bytes into memory, from the logs of both sides.

Requests of a queue pair are carried out in order (InfiniBand Architecture Specification vol. 1,
9.5).  For each write the software HCA notes the queue pair and the number of the message since the
two were connected; the n-th message is the n-th request posted there.  A real HCA does not tell:
its writes are seen, but not their sender.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.recording.log.record import Kind, Note, Record
from rdb.recording.log.verbs_calls import Call, WorkRequest, posted, verbs_call
from rdb.recording.rank import RankRecording
from rdb.recording.verbs.begun import begun_with

_NOTE_ARRIVAL = struct.Struct("<QQIIII")  # struct verbs_note_arrival
_NUMBER = struct.Struct("<I")  # number of a queue pair
_NUMBERS = 1 << 24
_LOCAL = frozenset({7, 8})  # IBV_WR_LOCAL_INV, IBV_WR_BIND_MW: no message
_RESET = 0  # IBV_QPS_RESET


@dataclass(frozen=True, slots=True)
class Arrival:
    """A write by a peer's request: numbers of both queue pairs, number of the message from 0."""

    at_ns: int
    source: int
    dest: int
    number: int
    offset: int
    """Offset in the message of the bytes that were asked for."""


@dataclass(frozen=True, slots=True)
class Post:
    """A posted request that became a message."""

    event: int
    at_ns: int
    request: WorkRequest


@dataclass
class _Life:
    """A queue pair between two RESETs.

    A post of None was made before the recording began, which is a branch.
    """

    posts: list[Post | None]
    peer: int = 0


def arrivals_into(record: Record, addr: int, size: int) -> Iterator[Arrival]:
    """The arrivals in this event that wrote any of these bytes, in their order."""
    for chunk in record.chunks:
        if chunk.addr or chunk.note != Note.ARRIVAL:
            continue
        start, length, source, dest, number, offset = _NOTE_ARRIVAL.unpack_from(chunk.data)
        if start < addr + size and addr < start + length:
            yield Arrival(record.at_ns, source, dest, number, offset + max(addr - start, 0))


class Posts:
    """The requests that one process posted, by the number of the queue pair."""

    def __init__(self, recording: RankRecording) -> None:
        self._lives: dict[int, list[_Life]] = defaultdict(list)
        numbers: dict[int, int] = {}
        begun = begun_with(recording.path)
        for pair in begun["pairs"] if begun else ():
            handle, number = pair["fields"][:2]
            numbers[handle] = number
            # The restart made these before the branch's own (rdb/live/verbs/begun.py).
            again = [WorkRequest(*words) for _, words in pair["sends"]]
            made = pair["before"] + sum(one.opcode not in _LOCAL for one in again)
            self._lives[number].append(_Life([None] * made, pair["peer"]))
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
        """The request of an arrival if this process posted it: the newest that is not too late.

        The time of a post is the end of its call, and its message may arrive before that.  So if
        all candidates are too late, the first is taken.  Raises RdbError if it was posted
        before the branch of this recording.
        """
        candidates = [
            post
            for life in self._lives.get(arrival.source, [])
            if life.peer == arrival.dest
            for post in life.posts[arrival.number :: _NUMBERS]
        ]
        in_time = [post for post in candidates if post is None or post.at_ns <= arrival.at_ns]
        found = in_time[-1:] or candidates[:1]
        if found == [None]:
            raise RdbError("the request was posted before this branch began")
        return found[0] if found else None
