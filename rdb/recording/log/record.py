"""Records and notes of a log as Python types (interposer/interface/log_format.h, host.h)."""

from __future__ import annotations

import errno
import os
import signal
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

NEVER = 1 << 62  # later than every event


class Kind(IntEnum):
    """enum log_kind."""

    META = 1
    START = 2
    SYSCALL = 3
    HYPERCALL = 4
    UPCALL = 5
    SIGNAL = 6
    TSC = 7
    HASH = 8
    CHECKPOINT = 9
    FILE = 10
    END = 11
    RESUME = 12
    PREEMPT = 13
    ASKED = 14
    ENDS = 15

    @property
    def is_event(self) -> bool:
        return Kind.START <= self <= Kind.TSC or self in (Kind.RESUME, Kind.PREEMPT)


_KINDS = {int(kind): kind for kind in Kind}
_RECORD_BYTES = 56  # struct log_record
_TOOK = struct.Struct("<I")  # log_record.took
_TOOK_AT = 52
_TOOK_US = 1 << 31  # LOG_TOOK_US
_CHUNK = struct.Struct("<QII")  # struct log_chunk
_PAYLOAD = struct.Struct("<QQI")  # struct rdb_note_payload up to its hash
_ADDRESS = (1 << 48) - 1  # RDB_SENT_ADDRESS
_NOTE_MESSAGE = struct.Struct("<iiIIQQQ")  # struct rdb_note_recv


def duration_ns(took: int) -> int | None:
    """From log_record.took."""
    if not took:
        return None
    return (took & ~_TOOK_US) * 1000 if took & _TOOK_US else took


class Note(IntEnum):
    """enum rdb_note: notes, which a replay does not write to memory."""

    FILE = 1
    RECV = 2
    SEND = 3
    TEXT = 4
    PAGES = 5
    THREAD = 6
    MARK = 7
    SHARED = 8
    AT = 9
    BYTES = 10
    VERBS = 11
    ARRIVAL = 12
    DEVICE = 13
    OPENED = 14
    DONE = 16
    FREED = 17
    COMPLETED = 20
    TAKEN = 21
    SOCKET = 22
    PAYLOAD = 24
    CANCELLED = 25
    ASYNC = 23
    MPI_FILE = 26
    FILE_TURN = 27
    SHARED_OF = 28
    ASKED = 29
    WAS = 30
    PIPE = 31
    ATTRIBUTES = 32
    FOLLOWS = 33
    FORCED = 34
    SENT = 35
    MAPPED = 37
    MADE = 38
    COUNTED = 39
    PROBED = 40
    EARLY = 41
    KEPT = 42


class EndKind(IntEnum):
    """enum log_end."""

    EXIT = 1
    SIGNAL = 2
    UNSUPPORTED = 3
    DISK = 4
    EXEC = 5
    BUDGET = 6


class Chunk(NamedTuple):
    """Bytes that an event wrote to upper memory at addr, or (addr 0) a note."""

    addr: int
    note: int
    data: memoryview

    @property
    def span(self) -> tuple[int, int]:
        """Address and size of the bytes that the event wrote.

        With `--record=order` and `lean` they may lie outside the log.  (0, 0) for other notes.
        """
        if self.addr:
            return self.addr, len(self.data)
        if self.note == Note.PAYLOAD:
            at, _, size = _PAYLOAD.unpack_from(self.data)
            return at & _ADDRESS, size
        return 0, 0


class Record:
    """One record; a record of an event stands for `repeat` more equal events after it.

    Arguments and chunks are read from the log when they are asked for: most never are.
    """

    __slots__ = (
        *("_bytes_of", "_entry"),
        *("at_ns", "event", "kind", "nr", "repeat", "result", "thread"),
    )

    def __init__(self, entry: tuple[int, ...], bytes_of: Callable[[int, int, int], memoryview]):
        # struct log_entry, see library.py
        self.event = entry[0]
        self.result = entry[1]
        self.at_ns = entry[2]
        self.nr = entry[6]
        self.repeat = entry[7]
        self.kind = _KINDS[entry[8]]
        self.thread = entry[10]
        self._entry = entry
        self._bytes_of = bytes_of

    def _bytes(self) -> memoryview:
        return self._bytes_of(self._entry[4], self._entry[3], self._entry[5])

    @property
    def args(self) -> tuple[int, ...]:
        """The call's arguments, as unsigned 64-bit values."""
        return struct.unpack_from(f"<{self._entry[9]}Q", self._bytes(), _RECORD_BYTES)

    @property
    def took_ns(self) -> int | None:
        """Duration of an MPI or verbs call (of repeated ones: of the first); None: unknown.

        `at_ns` is the end of the call.
        """
        return duration_ns(*_TOOK.unpack_from(self._bytes(), _TOOK_AT))

    @property
    def chunks(self) -> list[Chunk]:
        data = self._bytes()
        at = _RECORD_BYTES + 8 * self._entry[9]
        chunks = []
        while at < len(data):
            addr, size, note = _CHUNK.unpack_from(data, at)
            at += _CHUNK.size
            chunks.append(Chunk(addr, note, data[at : at + size]))
            at += (size + 7) & ~7
        return chunks

    def written(self, address: int, size: int) -> bytes:
        """The bytes that the event left at an address, 0 where it wrote nothing.

        A later chunk overwrites an earlier one.
        """
        found = bytearray(size)
        for chunk in self.chunks:
            start = max(chunk.addr, address)
            stop = min(chunk.addr + len(chunk.data), address + size)
            if chunk.addr and start < stop:
                found[start - address : stop - address] = chunk.data[
                    start - chunk.addr : stop - chunk.addr
                ]
        return bytes(found)

    def text(self) -> str:
        """The first chunk as text: META, FILE and END records have one."""
        chunks = self.chunks
        return bytes(chunks[0].data).decode(errors="replace") if chunks else ""

    def __repr__(self) -> str:
        return f"Record({self.kind.name}, nr={self.nr}, event={self.event}, result={self.result})"


class Receive(NamedTuple):
    """A message that an event received, or sent: then `source` is the destination."""

    event: int
    source: int  # rank in MPI_COMM_WORLD, -1: unknown
    tag: int
    comm: int
    request: int
    size_bytes: int
    order: int
    """Of a receive: its number in the order in which its rank posted receives, from 1."""
    address: int
    """Of a send: address of its bytes; 0 if they are not contiguous.  Of a receive: see
    `truncated`."""
    offset: int = 0
    """Of the result of `receive_into`: offset in the message, in bytes."""

    @property
    def truncated(self) -> bool:
        """Of a receive: the message was longer than the buffer."""
        return bool(self.address)

    def is_of(self, sent: Receive) -> bool:
        """Does the size of this receive fit the message that was sent?"""
        if self.truncated:
            return self.size_bytes < sent.size_bytes
        return self.size_bytes == sent.size_bytes

    @classmethod
    def of(cls, record: Record, chunk: Chunk) -> Receive:
        """From the note of a send or a receive (struct rdb_note_recv)."""
        return cls(record.event, *_NOTE_MESSAGE.unpack_from(chunk.data))


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; the number if it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def signed32(value: int) -> int:
    """An `int` argument: the kernel and C ignore the upper half of the register."""
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


class End(NamedTuple):
    """How a recording ends: exit code, signal or errno in `value`, the reason in `text`."""

    kind: EndKind
    value: int
    text: str

    @property
    def state(self) -> str:
        match self.kind:
            case EndKind.EXIT:
                return f"exited {self.value}"
            case EndKind.SIGNAL:
                return f"signal {self.value}"
            case EndKind.UNSUPPORTED:
                return f"unsupported: {self.text}"
            case EndKind.DISK:
                if self.value in (0, errno.ENOSPC, errno.EDQUOT):
                    return "disk full: the rest was not recorded"
                return f"{os.strerror(self.value)}: the rest was not recorded"
            case EndKind.BUDGET:
                return f"log budget of {self.text} spent: the rest was not recorded"
            case EndKind.EXEC:
                return f"became {self.text or 'another program'}"
