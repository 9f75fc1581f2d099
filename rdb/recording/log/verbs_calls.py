"""Names of the verbs calls of a log (interposer/verbs/calls.def)."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from rdb.recording.log.record import Note, Record

NAMESPACE_VERBS = 2  # RDB_NS_VERBS in interposer/interface/gate.h


class Call(IntEnum):
    """Row numbers in calls.def."""

    DEVICES = 1
    OPEN = 2
    CLOSE = 3
    QUERY_DEVICE = 4
    QUERY_PORT = 5
    QUERY_GID = 6
    QUERY_PKEY = 7
    ASYNC_EVENT = 8
    ALLOC_PD = 9
    DEALLOC_PD = 10
    REG_MR = 11
    REREG_MR = 12
    DEREG_MR = 13
    ALLOC_MW = 14
    DEALLOC_MW = 15
    BIND_MW = 16
    CREATE_CHANNEL = 17
    DESTROY_CHANNEL = 18
    CREATE_CQ = 19
    RESIZE_CQ = 20
    DESTROY_CQ = 21
    POLL_CQ = 22
    NOTIFY_CQ = 23
    CQ_EVENT = 24
    CREATE_SRQ = 25
    MODIFY_SRQ = 26
    QUERY_SRQ = 27
    DESTROY_SRQ = 28
    POST_SRQ_RECV = 29
    CREATE_QP = 30
    MODIFY_QP = 31
    QUERY_QP = 32
    DESTROY_QP = 33
    POST_SEND = 34
    POST_RECV = 35
    CREATE_AH = 36
    DESTROY_AH = 37
    ATTACH_MCAST = 38
    DETACH_MCAST = 39
    FORK = 40
    ADVISE_MR = 41


# Function that the program called, and its logged arguments; `*`: an address.
_FUNCTIONS: dict[Call, tuple[str, str]] = {
    Call.DEVICES: ("ibv_get_device_list", "list* room"),
    Call.OPEN: ("ibv_open_device", "device context* opened*"),
    Call.CLOSE: ("ibv_close_device", "context"),
    Call.QUERY_DEVICE: ("ibv_query_device_ex", "context attr* size"),
    Call.QUERY_PORT: ("ibv_query_port", "context port attr*"),
    Call.QUERY_GID: ("ibv_query_gid", "context port index entry*"),
    Call.QUERY_PKEY: ("ibv_query_pkey", "context port index pkey*"),
    Call.ASYNC_EVENT: ("ibv_get_async_event", "context event*"),
    Call.ALLOC_PD: ("ibv_alloc_pd", "context"),
    Call.DEALLOC_PD: ("ibv_dealloc_pd", "pd"),
    Call.REG_MR: ("ibv_reg_mr", "pd addr* length iova* access keys*"),
    Call.REREG_MR: ("ibv_rereg_mr", "mr flags pd addr* length access keys*"),
    Call.DEREG_MR: ("ibv_dereg_mr", "mr"),
    Call.ALLOC_MW: ("ibv_alloc_mw", "pd type rkey*"),
    Call.DEALLOC_MW: ("ibv_dealloc_mw", "mw"),
    Call.BIND_MW: ("ibv_bind_mw", "qp mw mr bind* rkey*"),
    Call.CREATE_CHANNEL: ("ibv_create_comp_channel", "context fd*"),
    Call.DESTROY_CHANNEL: ("ibv_destroy_comp_channel", "channel"),
    Call.CREATE_CQ: ("ibv_create_cq", "context cqe* channel vector cq*"),
    Call.RESIZE_CQ: ("ibv_resize_cq", "cq cqe*"),
    Call.DESTROY_CQ: ("ibv_destroy_cq", "cq"),
    Call.POLL_CQ: ("ibv_poll_cq", "cq room wc*"),
    Call.NOTIFY_CQ: ("ibv_req_notify_cq", "cq solicited_only"),
    Call.CQ_EVENT: ("ibv_get_cq_event", "channel"),
    Call.CREATE_SRQ: ("ibv_create_srq", "pd attr* srq*"),
    Call.MODIFY_SRQ: ("ibv_modify_srq", "srq attr* mask"),
    Call.QUERY_SRQ: ("ibv_query_srq", "srq attr*"),
    Call.DESTROY_SRQ: ("ibv_destroy_srq", "srq"),
    Call.POST_SRQ_RECV: ("ibv_post_srq_recv", "srq wr*"),
    Call.CREATE_QP: ("ibv_create_qp", "pd send_cq recv_cq srq type attr* qp* qp_num*"),
    Call.MODIFY_QP: ("ibv_modify_qp", "qp attr* mask state peer"),
    Call.QUERY_QP: ("ibv_query_qp", "qp attr* mask init_attr*"),
    Call.DESTROY_QP: ("ibv_destroy_qp", "qp"),
    Call.POST_SEND: ("ibv_post_send", "qp wr*"),
    Call.POST_RECV: ("ibv_post_recv", "qp wr*"),
    Call.CREATE_AH: ("ibv_create_ah", "pd attr*"),
    Call.DESTROY_AH: ("ibv_destroy_ah", "ah"),
    Call.ATTACH_MCAST: ("ibv_attach_mcast", "qp gid* lid"),
    Call.DETACH_MCAST: ("ibv_detach_mcast", "qp gid* lid"),
    Call.FORK: ("ibv_fork_init", "init"),
    Call.ADVISE_MR: ("ibv_advise_mr", "pd advice flags sg_list* num_sge"),
}
_CALLS = {int(call): call for call in Call}

# enum ibv_wr_opcode; a receive has RECEIVE
OPCODES = (
    *("RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "SEND", "SEND_WITH_IMM", "RDMA_READ"),
    *("ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "LOCAL_INV", "BIND_MW", "SEND_WITH_INV"),
    *("TSO", "DRIVER1"),
)
RECEIVE = 0xFFFFFFFF

_NOTE_POST = struct.Struct("<QQIIQ")  # struct verbs_note_post


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """A work request that a post accepted."""

    wr_id: int
    size_bytes: int
    opcode: int
    flags: int
    address: int
    """Address of its bytes; 0 if they are not contiguous."""

    @property
    def name(self) -> str:
        if self.opcode == RECEIVE:
            return "RECV"
        return OPCODES[self.opcode] if self.opcode < len(OPCODES) else str(self.opcode)


def verbs_call(nr: int) -> Call | None:
    """The verbs call of a hypercall number; None: it is none."""
    return _CALLS.get(nr & 0xFFFF) if nr >> 16 == NAMESPACE_VERBS else None


def verbs_name(nr: int) -> str | None:
    call = verbs_call(nr)
    return None if call is None else _FUNCTIONS[call][0]


def call_parameters(call: Call) -> list[str]:
    """Names of its arguments, in order."""
    return [word.rstrip("*") for word in _FUNCTIONS[call][1].split()]


def verbs_numbers() -> dict[int, str]:
    """Hypercall number -> name of the function."""
    return {NAMESPACE_VERBS << 16 | call: name for call, (name, _) in _FUNCTIONS.items()}


def posted(record: Record) -> Iterator[WorkRequest]:
    """The work requests that this event posted."""
    for chunk in record.chunks:
        if chunk.addr == 0 and chunk.note == Note.VERBS:
            yield WorkRequest(*_NOTE_POST.unpack_from(chunk.data))


def describe_verbs(record: Record, call: Call) -> str:
    """`ibv_post_send(qp=5, wr=0x...) SEND of 64 bytes`."""
    name, signature = _FUNCTIONS[call]
    arguments = ", ".join(
        f"{word.rstrip('*')}={_argument(word, value)}"
        for word, value in zip(signature.split(), record.args, strict=False)
    )
    text = f"{name}({arguments})"
    if record.result < 0:
        error = -record.result & 0xFFFF  # verbs_bad(): the bits above name the request
        text += f" = -{errno.errorcode.get(error, str(error))}"
    elif record.result:
        text += f" = {record.result:#x}" if record.result >> 32 else f" = {record.result}"
    requests = [f"{one.name} of {one.size_bytes} bytes" for one in posted(record)]
    return f"{text} {', '.join(requests)}" if requests else text


def _argument(word: str, value: int) -> str:
    if word.endswith("*"):
        return f"{value:#x}" if value else "0"
    return str(value - (1 << 64) if value >> 63 else value)
