"""The fields of a verbs call that a query can use: arguments, requests, completions."""

from __future__ import annotations

from functools import cache
from typing import Any

from rdb.recording.log.record import Record
from rdb.recording.log.verbs_calls import Call, call_parameters, posted, verbs_call
from rdb.recording.verbs.objects import completions

# enum ibv_wc_status
STATUS = (
    *("SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR"),
    *("MW_BIND_ERR", "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR"),
    *("REM_OP_ERR", "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR"),
)
ITEM_FIELDS = ("operation", "wr_id", "status", "qp_num", "bytes")


@cache
def parameter_names() -> frozenset[str]:
    """Names of the arguments of all verbs calls."""
    return frozenset(name for call in Call for name in call_parameters(call))


def parameters(record: Record) -> dict[str, int]:
    """Arguments by name, as signed numbers; empty if it is no verbs call."""
    call = verbs_call(record.nr)
    if call is None:
        return {}
    return {
        name: value - (1 << 64) if value >> 63 else value
        for name, value in zip(call_parameters(call), record.args, strict=False)
    }


def items(record: Record) -> list[dict[str, Any]]:
    """The requests that a post accepted, or the completions that a poll returned."""
    if verbs_call(record.nr) is Call.POLL_CQ:
        if record.result <= 0:
            return []
        return [
            {
                "wr_id": one.wr_id,
                "status": STATUS[one.status] if one.status < len(STATUS) else str(one.status),
                "qp_num": one.qp_num,
                # valid only for successful receives (ibv_poll_cq(3))
                "bytes": one.size_bytes if one.received and not one.status else None,
            }
            for one in completions(record)
        ]
    return [
        {"operation": one.name, "wr_id": one.wr_id, "bytes": one.size_bytes}
        for one in posted(record)
    ]
