"""Items: what a log says of communication, one of fixed size for each send, receive, collective and
posted receive, as librdblog reads them (interposer/log/log_messages.h).

Items stay packed and are unpacked one at a time: a rank with a million messages costs some dozen
megabytes and one second.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.library import log_library, read_error
from rdb.recording.mpi.collectives import (
    collectives,
    file_collectives,
    meetings,
    on_whose_ranks,
    window_calls,
)
from rdb.recording.mpi.locks import lock_calls

ITEM = struct.Struct("<5Q2i4I")  # struct log_message
# Offsets in an item.
EVENT, SIZE, ORDER = 0, 16, 24
PEER, TAG, COMM_ID, REQUEST, NR, WHAT = 40, 44, 48, 52, 56, 60
# Indices of the parameters count, source, tag (of the receive), communicator and request.
_EXCHANGES = {
    "MPI_Isendrecv": (6, 8, 9, 10, 11),
    "MPI_Isendrecv_replace": (1, 5, 6, 7, 8),
}
_NAMESPACE_MPI = 1  # RDB_NS_MPI in interposer/interface/gate.h


class What(IntEnum):
    """enum log_message_what."""

    RECV = 1
    SEND = 2
    CALL = 3
    POSTED = 4
    TEXT = 5
    DONE = 6
    STARTED = 7
    PREPARED = 8
    CANCELLED = 9
    """The newest receive of that request was cancelled; order 0: MPI_Cancel has been called
    only."""
    MATCHED = 10
    """Matched by MPI_Mprobe or MPI_Improbe: the request is the message's handle."""
    FREED = 11
    """The window, communicator or file `request` was freed."""
    MADE = 12
    """A request of another kind was made, or one that is not started yet."""
    MET = 13
    """A call of `meetings`."""
    PROBED = 14
    """A probe has found a message; order: its own if it was matched, else the next receive's."""


class Item(NamedTuple):
    """struct log_message."""

    event: int
    at_ns: int
    size_bytes: int
    order: int
    address: int
    peer: int
    """Of a message: the other rank of the job (-1: outside of the job).  Of a call: the root."""
    tag: int
    comm: int
    """Of a call on a window: the window."""
    request: int
    """The request, window or file that a call made."""
    nr: int
    what: int


@cache
def _library() -> tuple[Any, Any, Any, int]:
    """cffi's FFI object, librdblog, the table of wanted calls and its length."""
    ffi, library = log_library()
    functions = mpi_functions()
    count = 1 + max((int(one["nr"]) & 0xFFFF for one in functions), default=-1)
    wanted = ffi.new("struct log_wanted[]", max(count, 1))
    for one in functions:
        nr, params = int(one["nr"]), list(one["params"])
        row = wanted[nr & 0xFFFF]
        row.comm = row.peer = row.tag = row.request = row.size = -1
        if nr in collectives():
            row.what = What.CALL
            row.comm = params.index(on_whose_ranks(params))
            row.peer = params.index("root") if "root" in params else -1
            made = next((what for what in ("request", "win", "fh") if what in params), None)
            row.request = params.index(made) if made else -1
        elif nr in file_collectives():
            row.what, row.comm = What.CALL, params.index("fh")
        elif nr in window_calls():
            row.what, row.comm = What.CALL, params.index("win")
            row.peer = params.index("assert") if "assert" in params else -1
        elif nr in lock_calls():
            row.what, row.comm = What.CALL, params.index("win")
            row.peer = params.index("rank") if "rank" in params else -1
            row.tag = params.index("lock_type") if "lock_type" in params else -1
            row.size = params.index("assert") if "assert" in params else -1
        elif one["name"] in ("MPI_Irecv", "MPI_Recv_init"):
            row.what = What.POSTED if one["name"] == "MPI_Irecv" else What.PREPARED
            row.size, row.peer, row.tag, row.comm, row.request = (1, 3, 4, 5, 6)
        elif one["name"] in ("MPI_Mprobe", "MPI_Improbe"):
            row.what = What.MATCHED
            row.peer, row.tag, row.comm, row.request = (0, 1, 2, params.index("message"))
        elif one["name"] in _EXCHANGES:
            row.what = What.POSTED
            row.size, row.peer, row.tag, row.comm, row.request = _EXCHANGES[one["name"]]
        elif nr in meetings():
            row.what = What.MET
            where = ("local_comm", "comm", "intercomm")
            row.comm = params.index(next(one for one in where if one in params))
            row.peer = params.index("remote_leader") if "remote_leader" in params else -1
            row.tag = params.index("tag") if "tag" in params else -1
            of = next((one for one in ("peer_comm", "group") if one in params), None)
            row.size = params.index(of) if of else -1
        elif one["name"] == "MPI_Grequest_complete":
            row.what, row.comm = What.DONE, params.index("request")
        elif _makes_a_request(str(one["name"])):
            row.what, row.request = What.MADE, params.index("request")
            of = next((one for one in ("fh", "win") if one in params), None)
            row.comm = params.index(of) if of else -1
            row.peer = params.index("target_rank") if "target_rank" in params else -1
    return ffi, library, wanted, count


def _makes_a_request(name: str) -> bool:
    """Does it make a request that no note of the log describes?"""
    name = name.removesuffix("_c")
    other = {"MPI_Grequest_start", "MPI_Imrecv", "MPI_Raccumulate", "MPI_Rget", "MPI_Rput"}
    other.add("MPI_Rget_accumulate")
    return name.startswith(("MPI_File_iread", "MPI_File_iwrite")) or (
        name in other or (name.endswith("_init") and name != "MPI_Recv_init")
    )


def last_received(path: Path, before_event: int) -> int | None:
    """The last event up to BEFORE_EVENT that completed a receive; None: there is none."""
    view, _keep = read_items(path, calls=False)
    whats, events = column(view, WHAT, "I"), column(view, EVENT, "Q")
    for place in reversed(range(bisect_right(events, before_event))):
        if whats[place] == What.RECV:
            return int(events[place])
    return None


def read_items(path: Path, calls: bool) -> tuple[memoryview, Any]:
    """All items of a log, and the owner of their memory; without CALLS only items of notes.

    Raises VersionMismatch, DamagedRecording or RdbError if the log cannot be read.
    """
    ffi, library, wanted, wanted_count = _library()
    found = ffi.new("struct log_message **")
    count = ffi.new("size_t *")
    error = ffi.new("char[256]")
    status = library.log_messages(
        os.fsencode(path),
        _NAMESPACE_MPI,
        wanted,
        wanted_count if calls else 0,
        found,
        count,
        error,
    )
    keep = ffi.gc(found[0], library.log_messages_free)
    failed = read_error(path, status, error)
    if failed:
        raise failed
    size = int(count[0]) * ITEM.size
    return (memoryview(ffi.buffer(keep, size)) if size else memoryview(b"")), keep


def column(view: memoryview, offset: int, code: str) -> memoryview:
    """One member of all items; ten times as fast as unpacking them."""
    size = struct.calcsize(code)
    return view.cast("B").cast(code)[offset // size :: ITEM.size // size]  # type: ignore[call-overload,no-any-return]
