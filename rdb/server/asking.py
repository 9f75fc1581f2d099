"""Which MPI call a rank asks for where it stands."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from rdb.errors import UnknownJob
from rdb.recording.describe import mpi_arguments, mpi_call, mpi_name
from rdb.recording.record import Kind
from rdb.server.target import Debuggee, RankRecordingLike

_HANDLE = struct.Struct("<Q")
_REQUESTS = 0x4005  # of a dynamic handle's upper bits: RDB_DYNAMIC | RDB_REQUEST << 48 (handles.h)
_MOST = 1 << 16
_FREES = {
    "MPI_Comm_free": "comm",
    "MPI_Comm_disconnect": "comm",
    "MPI_Win_free": "win",
    "MPI_File_close": "fh",
}


def asked(timeline: Debuggee, recording: RankRecordingLike) -> dict[str, Any]:
    """The call that is answered next, or, at the end of the recording, that never was.

    Empty: it is none of MPI.  `requests` are the ids of those that the call is about, as they lie
    in memory where the rank stands.
    """
    question = _next(timeline, recording)
    if question is None or question[0] != Kind.HYPERCALL:
        return {}
    _, nr, args = question
    name = mpi_name(nr)
    if name is None:
        return {}
    arguments = mpi_arguments(nr, args)
    freed = _FREES.get(name)
    if freed is not None:  # where the handle lies
        (handle,) = _HANDLE.unpack(timeline.read_memory(arguments[freed], _HANDLE.size))
        arguments[freed] = handle & 0xFFFFFFFF
    return {
        "call": name,
        "text": mpi_call(nr, args),
        "arguments": arguments,
        "requests": list(_requests(timeline, arguments)),
    }


def _next(
    timeline: Debuggee, recording: RankRecordingLike
) -> tuple[int, int, tuple[int, ...]] | None:
    if timeline.event == recording.last_event:
        return timeline.asked()
    try:
        record = recording.event(timeline.event + 1)
    except UnknownJob:
        return None
    return record.kind, record.nr, record.args


def _requests(timeline: Debuggee, arguments: dict[str, int]) -> Iterator[int]:
    if "request" in arguments:
        address, count = arguments["request"], 1
    elif "array_of_requests" in arguments:
        address = arguments["array_of_requests"]
        count = arguments.get("count", arguments.get("incount", 0))
    else:
        return
    data = timeline.read_memory(address, min(max(count, 0), _MOST) * _HANDLE.size)
    for (handle,) in _HANDLE.iter_unpack(data[: len(data) // _HANDLE.size * _HANDLE.size]):
        if handle >> 48 == _REQUESTS:
            yield handle & 0xFFFFFFFF
