"""A process's verbs objects at any event: what exists, what is outstanding, what has completed.

The state is derived from the log up to the event (interposer/verbs/protocol.h), so it is known for
every position.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

from rdb.recording.log.record import Record
from rdb.recording.log.verbs_calls import NAMESPACE_VERBS, Call, WorkRequest, posted
from rdb.recording.verbs.begun import begun_with
from rdb.recording.verbs.contexts import MAKE, Contexts

if TYPE_CHECKING:
    from rdb.recording.rank import RankRecording

_WC = struct.Struct("<QIIIIIIIIHHBBxx")  # struct ibv_wc
_KEYS = struct.Struct("<II")  # struct verbs_keys
_NUMBER = struct.Struct("<I")

_STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR", "UNKNOWN")
_TYPES = {2: "RC", 3: "UC", 4: "UD", 8: "RAW_PACKET", 9: "XRC_SEND", 10: "XRC_RECV"}
_WC_RECV = 1 << 7  # enum ibv_wc_opcode: valid if the status is success

_QPS_RESET = 0
_CHANGE_TRANSLATION, _CHANGE_ACCESS = 1, 4  # enum ibv_rereg_mr_flags


@dataclass
class Queue:
    """A work queue: `outstanding` requests have no completion yet, oldest first."""

    outstanding: deque[WorkRequest] = field(default_factory=deque)
    posted: int = 0
    posted_bytes: int = 0
    completed: int = 0
    failed: int = 0

    def post(self, request: WorkRequest) -> None:
        self.outstanding.append(request)
        self.posted += 1
        self.posted_bytes += request.size_bytes

    def holds(self, wr_id: int) -> bool:
        return any(one.wr_id == wr_id for one in self.outstanding)

    def complete(self, wr_id: int, success: bool, in_order: bool) -> None:
        """Takes note of a completion; `in_order` (send queues): it also completes all earlier
        requests."""
        if not in_order:
            for at, one in enumerate(self.outstanding):
                if one.wr_id == wr_id:
                    del self.outstanding[at]
                    break
        elif self.holds(wr_id):
            while self.outstanding.popleft().wr_id != wr_id:
                self.completed += 1
        self.completed += success
        self.failed += not success


@dataclass
class MemoryRegion:
    """Registered memory and its keys."""

    handle: int
    pd: int
    address: int
    size_bytes: int
    access: int
    lkey: int
    rkey: int


@dataclass
class QueuePair:
    """A queue pair; `number` is the number that peers use."""

    handle: int
    number: int
    type: str
    pd: int
    send_cq: int
    recv_cq: int
    srq: int
    state: str = "RESET"
    peer: int = 0
    send: Queue = field(default_factory=Queue)
    recv: Queue = field(default_factory=Queue)


@dataclass
class Verbs:
    """The verbs objects of one process at one event."""

    event: int
    queue_pairs: dict[int, QueuePair] = field(default_factory=dict)
    regions: dict[int, MemoryRegion] = field(default_factory=dict)
    shared: dict[int, Queue] = field(default_factory=dict)
    completion_queues: set[int] = field(default_factory=set)
    contexts: Contexts = field(default_factory=Contexts)
    gone: list[QueuePair] = field(default_factory=list)
    """Queue pairs that were destroyed."""

    def __bool__(self) -> bool:
        return bool(self.queue_pairs or self.regions or self.completion_queues or self.gone)

    def as_json(self) -> dict[str, Any]:
        return {
            "event": self.event,
            "queue_pairs": [_pair_json(one) for one in (*self.queue_pairs.values(), *self.gone)],
            "memory_regions": [
                {
                    "address": one.address,
                    "bytes": one.size_bytes,
                    "access": one.access,
                    "lkey": one.lkey,
                    "rkey": one.rkey,
                }
                for one in self.regions.values()
            ],
            "completion_queues": len(self.completion_queues),
        }

    def seen(self) -> dict[str, Any]:
        """Objects and outstanding requests, as JSON, for a branch that begins here."""
        return {
            "pairs": [
                {
                    "fields": [
                        *(one.handle, one.number, one.type, one.pd),
                        *(one.send_cq, one.recv_cq, one.srq, one.state, one.peer),
                    ],
                    "send": [astuple(request) for request in one.send.outstanding],
                    "recv": [astuple(request) for request in one.recv.outstanding],
                }
                for one in self.queue_pairs.values()
            ],
            "regions": [astuple(one) for one in self.regions.values()],
            "shared": {
                handle: [astuple(request) for request in queue.outstanding]
                for handle, queue in self.shared.items()
            },
            "completion_queues": sorted(self.completion_queues),
            "contexts": self.contexts.as_json(),
        }

    def begin(self, seen: dict[str, Any]) -> None:
        """Sets the state with which a branch began; SEEN: result of `seen`."""
        for one in seen["pairs"]:
            pair = QueuePair(*one["fields"])
            pair.send, pair.recv = _queue(one["send"]), _queue(one["recv"])
            self.queue_pairs[pair.handle] = pair
        for fields in seen["regions"]:
            region = MemoryRegion(*fields)
            self.regions[region.handle] = region
        for handle, requests in seen["shared"].items():
            self.shared[int(handle)] = _queue(requests)
        self.completion_queues.update(seen["completion_queues"])
        self.contexts = Contexts(seen.get("contexts"))

    def table(self) -> list[tuple[str, ...]]:
        """Rows under HEADER."""
        pairs = [*self.queue_pairs.values(), *self.gone]
        return [
            (
                f"{one.number:#08x}",
                one.type,
                one.state,
                f"{one.peer:#08x}" if one.peer else "-",
                _done(one.send),
                _waiting(one.send),
                _done(self.shared.get(one.srq, one.recv)),
                _waiting(self.shared.get(one.srq, one.recv)),
            )
            for one in pairs
        ]


def _queue(requests: list[list[int]]) -> Queue:
    return Queue(deque(WorkRequest(*one) for one in requests))


HEADER = ("QP", "TYPE", "STATE", "PEER", "SENDS", "OUTSTANDING", "RECEIVES", "OUTSTANDING")


def _done(queue: Queue) -> str:
    """`12 (4,096 bytes)`: posted requests, and how many failed."""
    text = f"{queue.posted:,} ({queue.posted_bytes:,} bytes)" if queue.posted else "0"
    return f"{text}, {queue.failed:,} failed" if queue.failed else text


def _waiting(queue: Queue) -> str:
    """`3: SEND, SEND, RDMA_WRITE`."""
    names = [one.name for one in list(queue.outstanding)[:4]]
    if not names or names[0] == "RECV":
        return f"{len(queue.outstanding):,}"
    more = ", ..." if len(queue.outstanding) > len(names) else ""
    return f"{len(queue.outstanding):,}: {', '.join(names)}{more}"


def _pair_json(pair: QueuePair) -> dict[str, Any]:
    return {
        "number": pair.number,
        "type": pair.type,
        "state": pair.state,
        "peer": pair.peer,
        **{
            name: {
                "posted": queue.posted,
                "posted_bytes": queue.posted_bytes,
                "completed": queue.completed,
                "failed": queue.failed,
                "outstanding": [
                    {"wr_id": one.wr_id, "operation": one.name, "bytes": one.size_bytes}
                    for one in queue.outstanding
                ],
            }
            for name, queue in (("send", pair.send), ("receive", pair.recv))
        },
    }


def verbs_at(recording: RankRecording, event: int | None = None) -> Verbs:
    """The state right after EVENT was answered (default: at the end)."""
    last = recording.last_event if event is None else event
    state = Verbs(last)
    begun = begun_with(recording.path)
    if begun is not None:
        state.begin(begun["seen"])
    index = recording.index
    for place in index.of_hypercalls(_NUMBERS):
        _, first, repeat = index.brief(place)
        if first > last:
            break
        record = index.record(place)
        call = Call(record.nr & 0xFFFF)
        if record.result < 0 and call not in (Call.POST_SEND, Call.POST_RECV, Call.POST_SRQ_RECV):
            continue
        if record.result == 0 and call is Call.POLL_CQ:
            continue
        for _ in range(min(repeat, last - first) + 1):
            if call in MAKE:
                state.contexts.made(record)
            if call in _APPLY:
                _APPLY[call](state, record)
    return state


def _reg_mr(state: Verbs, record: Record) -> None:
    pd, address, size, _, access, keys = record.args
    lkey, rkey = _KEYS.unpack(record.written(keys, _KEYS.size))
    state.regions[record.result] = MemoryRegion(
        record.result, pd, address, size, access, lkey, rkey
    )


def _rereg_mr(state: Verbs, record: Record) -> None:
    handle, flags, _, address, size, access, keys = record.args
    region = state.regions[handle]
    region.lkey, region.rkey = _KEYS.unpack(record.written(keys, _KEYS.size))
    if flags & _CHANGE_TRANSLATION:
        region.address, region.size_bytes = address, size
    if flags & _CHANGE_ACCESS:
        region.access = access


def _dereg_mr(state: Verbs, record: Record) -> None:
    state.regions.pop(record.args[0], None)


def _create_cq(state: Verbs, record: Record) -> None:
    state.completion_queues.add(record.result)


def _destroy_cq(state: Verbs, record: Record) -> None:
    state.completion_queues.discard(record.args[0])


def _create_srq(state: Verbs, record: Record) -> None:
    state.shared[record.result] = Queue()


def _destroy_srq(state: Verbs, record: Record) -> None:
    state.shared.pop(record.args[0], None)


def _create_qp(state: Verbs, record: Record) -> None:
    pd, send_cq, recv_cq, srq, kind, _, _, number_at = record.args
    (number,) = _NUMBER.unpack(record.written(number_at, _NUMBER.size))
    name = _TYPES.get(kind, str(kind))
    state.queue_pairs[record.result] = QueuePair(
        record.result, number, name, pd, send_cq, recv_cq, srq
    )


def _modify_qp(state: Verbs, record: Record) -> None:
    handle, _, _, wanted, peer = record.args
    pair = state.queue_pairs[handle]
    pair.peer = peer or pair.peer
    if wanted < len(_STATES):
        pair.state = _STATES[wanted]
    if wanted == _QPS_RESET:
        pair.send.outstanding.clear()
        pair.recv.outstanding.clear()


def _destroy_qp(state: Verbs, record: Record) -> None:
    pair = state.queue_pairs.pop(record.args[0])
    pair.state = "destroyed"
    state.gone.append(pair)


def _close(state: Verbs, record: Record) -> None:
    context, holds = record.args[0], state.contexts.holds
    for pair in state.queue_pairs.values():
        if holds(context, pair.handle):
            pair.state = "destroyed"
            state.gone.append(pair)
    things: dict[int, Any]
    for things in (state.queue_pairs, state.regions, state.shared):
        for one in [one for one in things if holds(context, one)]:
            del things[one]
    state.completion_queues = {one for one in state.completion_queues if not holds(context, one)}
    state.contexts.close(context)


def _post_send(state: Verbs, record: Record) -> None:
    for request in posted(record):
        state.queue_pairs[record.args[0]].send.post(request)


def _post_recv(state: Verbs, record: Record) -> None:
    for request in posted(record):
        state.queue_pairs[record.args[0]].recv.post(request)


def _post_srq_recv(state: Verbs, record: Record) -> None:
    for request in posted(record):
        state.shared[record.args[0]].post(request)


@dataclass(frozen=True, slots=True)
class Completion:
    """One entry of a completion queue (struct ibv_wc)."""

    wr_id: int
    status: int
    received: bool
    """Valid if the status is success (ibv_poll_cq(3))."""
    size_bytes: int
    qp_num: int


def completions(record: Record) -> list[Completion]:
    """The completions that an ibv_poll_cq() returned to the program."""
    at = record.args[2]
    data = record.written(at, max(record.result, 0) * _WC.size)
    return [
        Completion(wr_id, status, bool(opcode & _WC_RECV), size_bytes, number)
        for wr_id, status, opcode, _, size_bytes, _, number, *_ in _WC.iter_unpack(data)
    ]


def _poll_cq(state: Verbs, record: Record) -> None:
    handle = record.args[0]
    for done in completions(record):
        wr_id, status, number = done.wr_id, done.status, done.qp_num
        pair = next(
            (
                one
                for one in state.queue_pairs.values()
                if one.number == number and handle in (one.send_cq, one.recv_cq)
            ),
            None,
        )
        if pair is None:
            continue
        received = done.received if status == 0 else not pair.send.holds(wr_id)
        if status:
            pair.state = "ERR" if pair.type != "UD" or received else pair.state
        if not received:
            pair.send.complete(wr_id, status == 0, in_order=True)
        elif pair.srq:
            state.shared[pair.srq].complete(wr_id, status == 0, in_order=False)
        else:
            pair.recv.complete(wr_id, status == 0, in_order=False)


_APPLY = {
    Call.CLOSE: _close,
    Call.REG_MR: _reg_mr,
    Call.REREG_MR: _rereg_mr,
    Call.DEREG_MR: _dereg_mr,
    Call.CREATE_CQ: _create_cq,
    Call.DESTROY_CQ: _destroy_cq,
    Call.CREATE_SRQ: _create_srq,
    Call.DESTROY_SRQ: _destroy_srq,
    Call.CREATE_QP: _create_qp,
    Call.MODIFY_QP: _modify_qp,
    Call.DESTROY_QP: _destroy_qp,
    Call.POST_SEND: _post_send,
    Call.POST_RECV: _post_recv,
    Call.POST_SRQ_RECV: _post_srq_recv,
    Call.POLL_CQ: _poll_cq,
}
_NUMBERS = frozenset(NAMESPACE_VERBS << 16 | call for call in (*_APPLY, *MAKE))
