"""What one rank did with verbs, according to its log."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import Any

from rdb.errors import RdbError
from rdb.launch.hca import SOFT_DEVICE
from rdb.live.verbs.looks import Looks
from rdb.live.verbs.queues import (
    NUMBER,
    WC,
    WC_BYTES,
    WC_NUMBER_AT,
    CompletionQueue,
    Life,
    Pair,
    Receive,
    Receives,
    Send,
    qp_number,
)
from rdb.recording import RankRecording
from rdb.recording.log.record import NEVER, Kind, Note, Record
from rdb.recording.log.verbs_calls import NAMESPACE_VERBS, RECEIVE, Call, WorkRequest, posted
from rdb.recording.verbs.begun import begun_on, begun_with
from rdb.recording.verbs.contexts import MAKE, Contexts

Need = tuple[int, int, int, int]
"""A rank, its event, another rank, and the event of that rank which must come before."""
UD = 4  # enum ibv_qp_type
_COMPLETED = struct.Struct("<BBxxI48s")  # struct verbs_note_completed
_TAKEN = struct.Struct("<III4xQ")  # struct verbs_note_taken
_ARRIVAL = struct.Struct("<QQIIII")  # struct verbs_note_arrival
_ASYNC = struct.Struct("<III")  # struct verbs_note_async
_EVENT = struct.Struct("<QI")  # cookie and type of struct verbs_event
_SRQ_LIMIT = struct.Struct("<III")  # struct ibv_srq_attr: the limit is the last
_LIMIT, _LIMIT_REACHED = 2, 15  # of enum ibv_srq_attr_mask, enum ibv_event_type
_DEVICE_NAME = slice(0, 64)  # of struct verbs_device
_RECEIVED = 128  # IBV_WC_RECV, in enum ibv_wc_opcode
_RESET, _ERR = 0, 6  # enum ibv_qp_state
BIND_MW = 8  # of enum ibv_wr_opcode
_LOCAL = frozenset({7, BIND_MW})  # and IBV_WR_LOCAL_INV: no message
_NUMBERS = 1 << 24


def uses_verbs(recording: RankRecording, until: int | None = None) -> bool:
    """Whether the program opened a device by event UNTIL."""
    if begun_with(recording.path) is not None:
        return True
    index = recording.index
    numbers = frozenset({NAMESPACE_VERBS << 16 | Call.OPEN})
    return any(
        index.record(place).result >= 0
        for place in index.of_hypercalls(numbers)
        if until is None or index.brief(place)[1] <= until
    )


def asks_verbs(recording: RankRecording, until: int) -> bool:
    """Whether the program called libibverbs by event UNTIL."""
    index = recording.index
    numbers = frozenset(NAMESPACE_VERBS << 16 | call for call in Call)
    return any(index.brief(place)[1] <= until for place in index.of_hypercalls(numbers)[:1])


def device_name(recording: RankRecording) -> str | None:
    """Name of the first device that the program saw; in a branch, of the device that it
    began on.
    """
    begun = begun_on(recording.path)
    if begun is not None:
        return begun
    index = recording.index
    for place in index.of_hypercalls(frozenset({NAMESPACE_VERBS << 16 | Call.DEVICES})):
        record = index.record(place)
        if record.result > 0:
            data = bytes(record.written(record.args[0], 64))
            return data[_DEVICE_NAME].split(b"\0")[0].decode()
    return None


def _events(record: Record, until: int | None) -> range:
    """The events of a record, as far as they change a queue."""
    if not record.kind.is_event:
        return range(0)
    last = record.event + record.repeat
    verbs = record.kind is Kind.HYPERCALL and record.nr >> 16 == NAMESPACE_VERBS
    idle = verbs and record.nr & 0xFFFF == Call.POLL_CQ and record.result == 0
    if (idle or not verbs) and not any(chunk.addr == 0 for chunk in record.chunks):
        last = record.event
    return range(record.event, min(last, last if until is None else until) + 1)


def _receives(posted: list[tuple[int, int]]) -> Receives:
    """The receives that a branch began with."""
    queue = Receives()
    for ordinal, wr_id in posted:
        queue.post(Receive(0, ordinal, wr_id))
    return queue


class RankVerbs:
    """What one rank did with verbs, read from its log up to event `until`.

    The software HCA notes its work when it happens. A real device's work shows when the program
    polls completions (rdb/live/verbs/devices.py).
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
        self.limits: dict[int, int] = {}
        """Limits of shared receive queues that were not reached."""
        self.async_events: list[tuple[int, int, int]] = []
        """Events that the program has not asked for: context, type, object."""
        # Source and destination -> event and number of each datagram that arrived.
        self.datagrams: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._by_number: dict[int, Pair] = {}
        self.shared_posted: dict[int, int] = {}
        self._event = 0
        self._contexts = Contexts()
        begun = begun_with(recording.path)
        if begun is not None:
            self._begin(begun)
        for record in recording.records():
            if until is not None and record.event > until:
                break
            if not self.noted and record.kind.is_event:
                self.looks.add(record)
            for event in _events(record, until):
                self._event = event
                self._add(record)

    def _begin(self, begun: dict[str, Any]) -> None:
        """Enters what a branch began with, requests that were posted again included."""
        self._contexts = Contexts(begun["seen"].get("contexts"))
        for one in begun["queues"]:
            queue = CompletionQueue(one["cookie"], deque(map(bytes.fromhex, one["entries"])))
            queue.armed, queue.solicited_only = one["armed"], one["solicited_only"]
            queue.events = one["events"]
            self.queues[one["handle"]] = queue
        for one in begun["shared"]:
            self.shared[one["handle"]] = _receives(one["receives"])
            self.shared_posted[one["handle"]] = one["posted"]
        for one in begun["pairs"]:
            self._begin_pair(one)
        self.async_events = [tuple(one) for one in begun["async"]]
        self.limits = {int(handle): limit for handle, limit in begun["limits"].items()}

    def _begin_pair(self, one: dict[str, Any]) -> None:
        life = Life(0, one["peer"], before=one["before"], messages=one["before"])
        handle, number, kind, send_cq, recv_cq, srq = one["fields"]
        pair = Pair(handle, number, kind, send_cq, recv_cq, srq, [life])
        pair.posted, pair.received = one["posted"], one["received"]
        pair.was_signaled = one["all_signaled"]
        life.connected = 0 if life.peer else NEVER
        life.failed = 0 if one["failed"] else NEVER
        life.alone = one["alone"]
        life.receives = _receives(one["receives"])
        for place, (ordinal, words) in enumerate(one["sends"]):
            request = WorkRequest(*words)
            number = None
            if request.opcode not in _LOCAL:
                number = life.messages
                life.messages += 1
            life.sends.append(Send(0, ordinal, request, place, number))
        self.pairs[pair.handle] = self._by_number[pair.number] = pair
        self.all_pairs.append(pair)

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
            elif chunk.note == Note.ASYNC:
                self._happened(*_ASYNC.unpack_from(chunk.data))
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
                        f"rank {self.rank} has polled a completion at event {self._event} "
                        "that is not in the log"
                    )
                entries.popleft()
        if call in (Call.DESTROY_QP, Call.CLOSE, Call.MODIFY_QP) and record.result == 0:
            self._ended(Call(call), record)

    def _call(self, call: Call, record: Record) -> None:
        if call in (Call.POST_SEND, Call.POST_RECV, Call.POST_SRQ_RECV):
            self._posted(record)
        if record.result < 0:
            return
        if call in MAKE:
            self._contexts.made(record)
        if call is Call.CREATE_QP:
            _, send_cq, recv_cq, srq, kind, _, _, at = record.args
            (number,) = NUMBER.unpack(record.written(at, NUMBER.size))
            pair = Pair(record.result, number, kind, send_cq, recv_cq, srq, [Life(self._event)])
            self.pairs[record.result] = self._by_number[number] = pair
            self.all_pairs.append(pair)
        elif call is Call.CREATE_CQ:
            self.queues[record.result] = CompletionQueue(record.args[4])
        elif call is Call.DESTROY_CQ:
            self.queues.pop(record.args[0], None)
            self._gone(record.args[0])
        elif call is Call.CREATE_SRQ:
            self.shared[record.result] = Receives()
            self.shared_posted[record.result] = 0
        elif call is Call.DESTROY_SRQ:
            self.shared.pop(record.args[0], None)
            self.limits.pop(record.args[0], None)
            self._gone(record.args[0])
        elif call is Call.MODIFY_SRQ and record.args[2] & _LIMIT:
            at = record.args[1]
            _, _, limit = _SRQ_LIMIT.unpack(record.written(at, _SRQ_LIMIT.size))
            self.limits[record.args[0]] = limit
        elif call is Call.ASYNC_EVENT:
            self._asked(record)
        elif call is Call.MODIFY_QP:
            handle, _, _, _, peer = record.args
            life = self.pairs[handle].life
            if peer:
                life.peer, life.connected = peer, min(life.connected, self._event)
        elif call is Call.BIND_MW:  # a request of the send queue that no post has noted
            pair = self.pairs[record.args[0]]
            request = WorkRequest(0, 0, BIND_MW, 0, 0)
            place = len(pair.life.sends)
            pair.life.sends.append(Send(self._event, pair.posted, request, place, None))
        elif call is Call.NOTIFY_CQ:
            queue, only = self.queues[record.args[0]], bool(record.args[1])
            queue.solicited_only = only and (not queue.armed or queue.solicited_only)
            queue.armed = True
        elif call is Call.CQ_EVENT:
            for queue in self.queues.values():
                if queue.cookie == record.result and (self.noted or queue.events):
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
                place = len(pair.life.sends)
                pair.life.sends.append(Send(self._event, pair.posted, request, place, number))
                pair.posted += 1
            elif record.nr & 0xFFFF == Call.POST_SRQ_RECV:
                ordinal = self.shared_posted[handle]
                self.shared[handle].post(Receive(self._event, ordinal, request.wr_id))
                self.shared_posted[handle] += 1
            else:
                pair = self.pairs[handle]
                one = Receive(self._event, pair.received, request.wr_id)
                pair.life.receives.post(one)
                pair.received += 1

    def _completed(self, note: bytes) -> None:
        received, solicited, request, entry = _COMPLETED.unpack(note)
        event = self._event
        wr_id, status, _ = WC.unpack_from(entry)
        pair = self._by_number[qp_number(entry)]
        life = pair.life
        if status:
            life.failed = min(life.failed, event)
        if received:
            queue = self.queues[pair.recv_cq]
            of = self.shared[pair.srq] if pair.srq else life.receives
            of.complete(wr_id, event)
        else:
            queue = self.queues[pair.send_cq]
            place = request - life.before
            if 0 <= place < len(life.sends):
                life.sends[place].completed = event
                life.sends[place].failed = bool(status)
        queue.push(entry, bool(solicited))

    def _polled(self, record: Record) -> None:
        """Enters polled completions, which no note announced."""
        count = max(record.result, 0)
        entries = record.written(record.args[2], count * WC_BYTES)
        begun = self.queues[record.args[0]].entries  # a branch's entries, which are polled first
        known = min(len(begun), count)
        for _ in range(known):
            begun.popleft()
        for at in range(known * WC_BYTES, len(entries), WC_BYTES):
            entry = entries[at : at + WC_BYTES]
            wr_id, status, opcode = WC.unpack_from(entry)
            pair = self._by_number.get(qp_number(entry))
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

    def _happened(self, context: int, kind: int, thing: int) -> None:
        self.async_events.append((context, kind, thing))
        if kind == _LIMIT_REACHED:
            self.limits.pop(thing, None)

    def _asked(self, record: Record) -> None:
        context, at = record.args
        _, kind = _EVENT.unpack(record.written(at, _EVENT.size))
        for one in self.async_events:
            if one[:2] == (context, kind):
                self.async_events.remove(one)
                return
        if kind == _LIMIT_REACHED:  # a real device's event, which has no note
            self.limits.clear()

    def _gone(self, thing: int) -> None:
        self.async_events = [one for one in self.async_events if one[2] != thing]

    def _taken(self, source: int, dest: int, number: int, was: int) -> None:
        pair = self._by_number.get(dest)
        if pair is not None and pair.type == UD:
            self.datagrams.setdefault((source, dest), []).append((self._event, number))
        elif pair is not None:
            # 24 bits: the next number that matches
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
            self._gone(record.args[0])
        else:
            context = record.args[0]
            self.async_events = [one for one in self.async_events if one[0] != context]
            for handle in self._of(context, self.pairs):
                self._end_life(self.pairs.pop(handle), again=False)
            for handle in self._of(context, self.queues):
                del self.queues[handle]
            for handle in self._of(context, self.shared):
                del self.shared[handle]
                self.limits.pop(handle, None)
            self._contexts.close(context)

    def _of(self, context: int, things: Iterable[int]) -> list[int]:
        return [one for one in things if self._contexts.holds(context, one)]

    def _end_life(self, pair: Pair, again: bool) -> None:
        pair.life.ended = self._event
        for handle in {pair.send_cq, pair.recv_cq}:
            if handle in self.queues:
                self.queues[handle].forget(pair.number)
        if again:
            pair.lives.append(Life(self._event))
