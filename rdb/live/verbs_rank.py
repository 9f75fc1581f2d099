"""What one rank did with verbs, as its log tells it."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from rdb.errors import RdbError
from rdb.launch.hca import SOFT_DEVICE
from rdb.recording import RankRecording
from rdb.recording.record import Kind, Note, Record
from rdb.recording.verbs_calls import NAMESPACE_VERBS, RECEIVE, Call, WorkRequest, posted

Need = tuple[int, int, int, int]
"""A rank's event needs that other rank's event."""
UD = 4  # enum ibv_qp_type
WC = struct.Struct("<QII")  # wr_id, status, opcode of struct ibv_wc
WC_BYTES = 48
WC_NUMBER_AT = 28  # its qp_num
NUMBER = struct.Struct("<I")
SIGNALED = 2  # enum ibv_send_flags
_COMPLETED = struct.Struct("<BBxxI48s")  # struct verbs_note_completed
_TAKEN = struct.Struct("<III4xQ")  # struct verbs_note_taken
_ARRIVAL = struct.Struct("<QQIIII")  # struct verbs_note_arrival
_DEVICE_NAME = slice(0, 64)  # of struct verbs_device
_RECEIVED = 128  # IBV_WC_RECV, in enum ibv_wc_opcode
_RESET, _ERR = 0, 6  # enum ibv_qp_state
_LOCAL = frozenset({7, 8})  # IBV_WR_LOCAL_INV, IBV_WR_BIND_MW: no message
_NUMBERS = 1 << 24
NEVER = 1 << 62


def uses_verbs(recording: RankRecording, until: int | None = None) -> bool:
    """Has it asked for devices, and found some, by then?"""
    index = recording.index
    numbers = frozenset({NAMESPACE_VERBS << 16 | Call.OPEN})
    return any(
        index.record(place).result >= 0
        for place in index.of_hypercalls(numbers)
        if until is None or index.brief(place)[1] <= until
    )


def device_name(recording: RankRecording) -> str | None:
    """Of the first device that it saw."""
    index = recording.index
    for place in index.of_hypercalls(frozenset({NAMESPACE_VERBS << 16 | Call.DEVICES})):
        record = index.record(place)
        if record.result > 0:
            data = bytes(record.written(record.args[0], 64))
            return data[_DEVICE_NAME].split(b"\0")[0].decode()
    return None


@dataclass
class Send:
    """A posted send request."""

    event: int
    ordinal: int
    """The how-manieth of its queue pair."""
    request: WorkRequest
    number: int | None
    """Of the message since the queue pair was connected; None: it makes none."""
    completed: int = NEVER
    """The event at which its completion was queued."""
    failed: bool = False
    taken: int = NEVER
    """The event of the peer at which it was carried out."""
    taken_by: int = -1
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
    first: int
    """Requests that were posted before."""
    peer: int = 0
    connected: int = NEVER
    ended: int = NEVER
    sends: list[Send] = field(default_factory=list)
    receives: Receives = field(default_factory=Receives)
    messages: int = 0
    failed: int = NEVER
    """The event of the first completion with an error."""
    other: Life | None = None
    other_rank: int = -1
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
            self._all_done = done.ordinal - self.first + 1

    def heard_of(self, send: Send) -> int:
        return self.heard[send.ordinal - self.first]


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

    @property
    def all_signaled(self) -> bool:
        """As far as the log shows it: what did not ask for a completion got one."""
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
        self.entries = deque(one for one in self.entries if _qp_number(one) != number)


def _qp_number(entry: bytes) -> int:
    (number,) = NUMBER.unpack_from(entry, WC_NUMBER_AT)
    return int(number)


def _events(record: Record, until: int | None) -> range:
    """Those that a record stands for, as far as they change anything."""
    if not record.kind.is_event:
        return range(0)
    last = record.event + record.repeat
    verbs = record.kind is Kind.HYPERCALL and record.nr >> 16 == NAMESPACE_VERBS
    idle = verbs and record.nr & 0xFFFF == Call.POLL_CQ and record.result == 0
    if (idle or not verbs) and not any(chunk.addr == 0 for chunk in record.chunks):
        last = record.event
    return range(record.event, min(last, last if until is None else until) + 1)


@dataclass
class Looks:
    """When a rank's log was written, and when what devices had written was found."""

    at_ns: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    found_ns: list[int] = field(default_factory=list)
    found: list[int] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.at_ns.append(record.at_ns)
        self.events.append(record.event)
        if any(chunk.note == Note.DEVICE for chunk in record.chunks):
            self.found_ns.append(record.at_ns)
            self.found.append(record.event)

    def begun_after(self, at_ns: int) -> int:
        """The first event that began then or later."""
        place = bisect_left(self.at_ns, at_ns) + 1
        return self.events[place] if place < len(self.events) else NEVER

    def found_after(self, at_ns: int) -> int:
        place = bisect_left(self.found_ns, at_ns)
        return self.found[place] if place < len(self.found) else NEVER

    def found_behind(self, event: int) -> int:
        place = bisect_right(self.found, event)
        return self.found[place] if place < len(self.found) else NEVER

    def before(self, event: int) -> int:
        """When the event can have begun at the earliest."""
        place = bisect_left(self.events, event)
        return self.at_ns[place - 1] if place else 0

    def ended(self, event: int) -> int:
        place = bisect_left(self.events, event + 1) - 1
        return self.at_ns[place]


class RankVerbs:
    """What one rank did with verbs, read from its log up to `until`.

    The software HCA notes what it does when it does it; of a device's work the log has what the
    program has polled (rdb/live/verbs_devices.py).
    """

    def __init__(self, rank: int, recording: RankRecording, until: int | None = None) -> None:
        self.rank = rank
        self.noted = device_name(recording) == SOFT_DEVICE
        self.host = recording.meta.get("host")
        self.looks = Looks()
        self.pairs: dict[int, Pair] = {}
        self.all_pairs: list[Pair] = []
        self.queues: dict[int, CompletionQueue] = {}
        self.shared: dict[int, Receives] = {}
        # by source and destination: events at which datagrams came, and their numbers
        self.datagrams: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._by_number: dict[int, Pair] = {}
        self._shared_posted: dict[int, int] = {}
        self._event = 0
        for record in recording.records():
            if until is not None and record.event > until:
                break
            if not self.noted and record.kind.is_event:
                self.looks.add(record)
            for event in _events(record, until):
                self._event = event
                self._add(record)

    def _add(self, record: Record) -> None:
        noted = [chunk for chunk in record.chunks if chunk.addr == 0]
        verbs = record.kind is Kind.HYPERCALL and record.nr >> 16 == NAMESPACE_VERBS
        call = record.nr & 0xFFFF if verbs else 0
        if call:
            self._call(Call(call), record)
        for chunk in noted:
            if chunk.note == Note.COMPLETED:
                self._completed(bytes(chunk.data[: _COMPLETED.size]))
            elif chunk.note == Note.TAKEN:
                self._taken(*_TAKEN.unpack_from(chunk.data))
            elif chunk.note == Note.ARRIVAL:
                _, _, _, dest, number, _ = _ARRIVAL.unpack_from(chunk.data)
                pair = self._by_number.get(dest)
                if pair is not None:
                    pair.life.arrivals.append((self._event, number))
        if call == Call.POLL_CQ and not self.noted:
            self._polled(record)
        elif call == Call.POLL_CQ and record.result > 0:
            entries = self.queues[record.args[0]].entries
            for _ in range(record.result):
                if not entries:
                    raise RdbError(
                        f"rank {self.rank} has polled a completion at event {self._event} that "
                        "the log does not know of"
                    )
                entries.popleft()
        if call in (Call.DESTROY_QP, Call.CLOSE, Call.MODIFY_QP) and record.result == 0:
            self._ended(Call(call), record)

    def _call(self, call: Call, record: Record) -> None:
        if call in (Call.POST_SEND, Call.POST_RECV, Call.POST_SRQ_RECV):
            self._posted(record)
        if record.result < 0:
            return
        if call is Call.CREATE_QP:
            _, send_cq, recv_cq, srq, kind, _, _, at = record.args
            (number,) = NUMBER.unpack(record.written(at, NUMBER.size))
            pair = Pair(record.result, number, kind, send_cq, recv_cq, srq, [Life(self._event, 0)])
            self.pairs[record.result] = self._by_number[number] = pair
            self.all_pairs.append(pair)
        elif call is Call.CREATE_CQ:
            self.queues[record.result] = CompletionQueue(record.args[4])
        elif call is Call.DESTROY_CQ:
            self.queues.pop(record.args[0], None)
        elif call is Call.CREATE_SRQ:
            self.shared[record.result] = Receives()
            self._shared_posted[record.result] = 0
        elif call is Call.DESTROY_SRQ:
            self.shared.pop(record.args[0], None)
        elif call is Call.MODIFY_QP:
            handle, _, _, _, peer = record.args
            life = self.pairs[handle].life
            if peer:
                life.peer, life.connected = peer, min(life.connected, self._event)
        elif call is Call.NOTIFY_CQ:
            queue, only = self.queues[record.args[0]], bool(record.args[1])
            queue.solicited_only = only and (not queue.armed or queue.solicited_only)
            queue.armed = True
        elif call is Call.CQ_EVENT:
            for queue in self.queues.values():
                if queue.cookie == record.result and self.noted:
                    queue.events -= 1
                elif queue.cookie == record.result:
                    queue.armed = False

    def _posted(self, record: Record) -> None:
        for request in posted(record):
            handle = record.args[0]
            if request.opcode != RECEIVE:
                pair = self.pairs[handle]
                number = None
                if request.opcode not in _LOCAL:
                    number = pair.life.messages
                    pair.life.messages += 1
                pair.life.sends.append(Send(self._event, pair.posted, request, number))
                pair.posted += 1
            elif record.nr & 0xFFFF == Call.POST_SRQ_RECV:
                ordinal = self._shared_posted[handle]
                self.shared[handle].post(Receive(self._event, ordinal, request.wr_id))
                self._shared_posted[handle] += 1
            else:
                pair = self.pairs[handle]
                one = Receive(self._event, pair.received, request.wr_id)
                pair.life.receives.post(one)
                pair.received += 1

    def _completed(self, note: bytes) -> None:
        received, solicited, request, entry = _COMPLETED.unpack(note)
        event = self._event
        wr_id, status, _ = WC.unpack_from(entry)
        pair = self._by_number[_qp_number(entry)]
        life = pair.life
        if status:
            life.failed = min(life.failed, event)
        if received:
            queue = self.queues[pair.recv_cq]
            of = self.shared[pair.srq] if pair.srq else life.receives
            of.complete(wr_id, event)
        else:
            queue = self.queues[pair.send_cq]
            if request < len(life.sends):
                life.sends[request].completed = event
                life.sends[request].failed = bool(status)
        queue.push(entry, bool(solicited))

    def _polled(self, record: Record) -> None:
        """Nobody has said before that they were there."""
        count = max(record.result, 0)
        entries = record.written(record.args[2], count * WC_BYTES)
        for at in range(0, len(entries), WC_BYTES):
            entry = entries[at : at + WC_BYTES]
            wr_id, status, opcode = WC.unpack_from(entry)
            pair = self._by_number.get(_qp_number(entry))
            if pair is None:
                continue
            life = pair.life
            if status:
                life.failed = min(life.failed, self._event)
            elif not opcode & _RECEIVED:
                life.complete(wr_id, self._event)
                continue
            of = self.shared[pair.srq] if pair.srq else life.receives
            of.complete(wr_id, self._event)
            if status:
                continue
            if pair.type == UD:
                (source,) = NUMBER.unpack_from(entry, WC_NUMBER_AT + NUMBER.size)
                came = self.datagrams.setdefault((source, pair.number), [])
                came.append((self._event, len(came)))
            else:
                life.polled.append(self._event)

    def _taken(self, source: int, dest: int, number: int, was: int) -> None:
        pair = self._by_number.get(dest)
        if pair is not None and pair.type == UD:
            self.datagrams.setdefault((source, dest), []).append((self._event, number))
        elif pair is not None:
            # 24 bits: the one that comes next
            seen = len(pair.life.taken)
            pair.life.taken[seen + (number - seen) % _NUMBERS] = (self._event, was)

    def _ended(self, call: Call, record: Record) -> None:
        if call is Call.MODIFY_QP:
            handle, _, _, state, _ = record.args
            if state == _RESET:
                self._end_life(self.pairs[handle], again=True)
            elif state == _ERR:
                self.pairs[handle].life.failed = min(self.pairs[handle].life.failed, self._event)
        elif call is Call.DESTROY_QP:
            self._end_life(self.pairs.pop(record.args[0]), again=False)
        else:
            self.pairs.clear()
            self.queues.clear()
            self.shared.clear()

    def _end_life(self, pair: Pair, again: bool) -> None:
        pair.life.ended = self._event
        for handle in {pair.send_cq, pair.recv_cq}:
            if handle in self.queues:
                self.queues[handle].forget(pair.number)
        if again:
            pair.lives.append(Life(self._event, pair.posted))
