"""Which MPI call a rank asks for where it stands."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from rdb.errors import UnknownJob
from rdb.recording.describe import mpi_arguments, mpi_call, mpi_name
from rdb.recording.record import Kind
from rdb.replay.protocol import Thread, ThreadState
from rdb.server.target import Debuggee, RankRecordingLike

_HANDLE = struct.Struct("<Q")
_REQUESTS = 0x4005  # of a dynamic handle's upper bits: RDB_DYNAMIC | RDB_REQUEST << 48 (handles.h)
_MOST = 1 << 16
_SYSCALL = b"\x0f\x05"
_FUTEX, _COMMAND, _WAIT, _WAIT_BITSET = 202, 0x7F, 0, 9
_FREES = {
    "MPI_Comm_free": "comm",
    "MPI_Comm_disconnect": "comm",
    "MPI_Win_free": "win",
    "MPI_File_close": "fh",
}


def asked(timeline: Debuggee, recording: RankRecordingLike) -> dict[str, Any]:
    """The call that is answered next, or, at the end of the recording, that never was.

    No `call`: it is none of MPI.  `requests` are the ids of those that the call is about, as they
    lie in memory where the rank stands.  `threads`: other threads may do something, or are in
    calls; not those that wait for each other.
    """
    others = [one for one in timeline.threads() if one.number != timeline.thread]
    awake = [one for one in others if not _sleeps(timeline, one)]
    found: dict[str, Any] = {"threads": bool(awake)}
    question = _next(timeline, recording)
    if question is None:
        return found
    kind, nr, args = question
    name = mpi_name(nr) if kind == Kind.HYPERCALL else None
    if name is None:
        futex = kind == Kind.SYSCALL and _waits_for_a_thread(nr, args[1], args[3])
        if futex and awake and all(one.state == ThreadState.PARKED for one in awake):
            found["parked"] = True
        return found
    arguments = mpi_arguments(nr, args)
    freed = _FREES.get(name)
    if freed is not None:  # where the handle lies
        (handle,) = _HANDLE.unpack(timeline.read_memory(arguments[freed], _HANDLE.size))
        arguments[freed] = handle & 0xFFFFFFFF
    return found | {
        "call": name,
        "text": mpi_call(nr, args),
        "arguments": arguments,
        "requests": list(_requests(timeline, arguments)),
    }


def _sleeps(timeline: Debuggee, thread: Thread) -> bool:
    """Does it wait until another one wakes it?"""
    if thread.state != ThreadState.PARKED:
        return False
    gpr = timeline.registers(thread.number).gpr
    at_syscall = timeline.read_memory(gpr.rip, len(_SYSCALL)) == _SYSCALL
    return at_syscall and _waits_for_a_thread(gpr.rax, gpr.rsi, gpr.r10)


def _waits_for_a_thread(nr: int, operation: int, timeout: int) -> bool:
    """futex(2), without a time after which it goes on."""
    return nr == _FUTEX and operation & _COMMAND in (_WAIT, _WAIT_BITSET) and not timeout


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
