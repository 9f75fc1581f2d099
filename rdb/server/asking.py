"""The MPI calls in which the threads of a rank are at its position."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from rdb.errors import UnknownJob
from rdb.recording import RankRecording
from rdb.recording.log.describe import mpi_arguments, mpi_call, mpi_name, mpi_requests
from rdb.recording.log.record import Kind
from rdb.replay.protocol import Thread, ThreadState
from rdb.timeline.timeline import Timeline

_HANDLE = struct.Struct("<Q")
_REQUESTS = 0x4005  # upper 16 bits of a dynamic request: RDB_DYNAMIC | RDB_REQUEST (handles.h)
_MOST = 1 << 16
_SYSCALL = b"\x0f\x05"
_GATE_CALL = b"\xff\x50\x10"  # call *16(%rax): gate.h
_FUTEX, _COMMAND, _WAIT, _WAIT_BITSET = 202, 0x7F, 0, 9
_FREES = {
    "MPI_Comm_free": "comm",
    "MPI_Comm_disconnect": "comm",
    "MPI_Win_free": "win",
    "MPI_File_close": "fh",
}

Question = tuple[int, int, tuple[int, ...]]
"""Kind of event, number, arguments."""


def asked(timeline: Timeline, recording: RankRecording) -> dict[str, Any]:
    """The MPI calls that are answered next or, at the end of the recording, never were.

    `calls`: one for each thread that is in an MPI call, first that of the thread that runs next;
    `requests` of a call are the ids of its requests, read from the rank's memory.
    `asks`: the thread that runs next is in an MPI call.  `sleeps`: it waits in futex(2) without a
    timeout.  `threads`: another thread may run, or is in a call other than MPI or futex(2).
    """
    question = _next(timeline, recording)
    calls = [None if question is None else _call(timeline, timeline.thread, question)]
    awake = False
    for one in timeline.threads():
        if one.number == timeline.thread:
            continue
        parked = _parked(timeline, one)
        call = None if parked is None else _call(timeline, one.number, parked)
        calls.append(call)
        awake |= call is None and (parked is None or not _waits_for_a_thread(parked))
    return {
        "calls": [call for call in calls if call is not None],
        "asks": calls[0] is not None,
        "sleeps": question is not None and _waits_for_a_thread(question),
        "threads": awake,
    }


def _parked(timeline: Timeline, thread: Thread) -> Question | None:
    """The question of a parked thread, whose registers are those of the question."""
    if thread.state != ThreadState.PARKED:
        return None
    gpr = timeline.registers(thread.number).gpr
    code = timeline.read_memory(gpr.pc, len(_GATE_CALL))
    if code[: len(_SYSCALL)] == _SYSCALL:
        args = (gpr.rdi, gpr.rsi, gpr.rdx, gpr.r10, gpr.r8, gpr.r9)
        return Kind.SYSCALL, gpr.rax & 0xFFFFFFFF, args
    if code != _GATE_CALL:
        return None
    data = timeline.read_memory(gpr.rdx, (gpr.rsi & 0xFFFFFFFF) * _HANDLE.size)
    return Kind.HYPERCALL, gpr.rdi & 0xFFFFFFFF, tuple(one for (one,) in _HANDLE.iter_unpack(data))


def _call(timeline: Timeline, thread: int, question: Question) -> dict[str, Any] | None:
    """The description of an MPI call; None: it is another call."""
    kind, nr, args = question
    name = mpi_name(nr) if kind == Kind.HYPERCALL else None
    if name is None:
        return None
    arguments = mpi_arguments(nr, args)
    freed = _FREES.get(name)
    if freed is not None:  # the argument is the address of the handle
        (handle,) = _HANDLE.unpack(timeline.read_memory(arguments[freed], _HANDLE.size))
        arguments[freed] = handle & 0xFFFFFFFF
    return {
        "thread": thread,
        "call": name,
        "text": mpi_call(nr, args),
        "arguments": arguments,
        "requests": mpi_requests(nr, args) or list(_requests(timeline, arguments)),
    }


def _waits_for_a_thread(question: Question) -> bool:
    """Is it futex(2) FUTEX_WAIT without a timeout?"""
    kind, nr, args = question
    futex = kind == Kind.SYSCALL and nr == _FUTEX
    return futex and args[1] & _COMMAND in (_WAIT, _WAIT_BITSET) and not args[3]


def _next(timeline: Timeline, recording: RankRecording) -> Question | None:
    if timeline.event == recording.last_event:
        return timeline.asked()
    try:
        record = recording.event(timeline.event + 1)
    except UnknownJob:
        return None
    return record.kind, record.nr, record.args


def _requests(timeline: Timeline, arguments: dict[str, int]) -> Iterator[int]:
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
