"""librdblog (interposer/log/log_index.h) through cffi: the index of a log, and its bytes."""

from __future__ import annotations

import bisect
import errno
import mmap
import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from cffi import FFI

from rdb.errors import DamagedRecording, RdbError, VersionMismatch
from rdb.paths import log_library_path
from rdb.recording.record import Kind, Record
from rdb.recording.short import expand, is_short

_CDEF = """
struct log_entry {
    uint64_t event; int64_t result; uint64_t at_ns; uint64_t offset;
    uint32_t segment, size, nr, repeat;
    uint16_t kind, nargs;
    uint32_t thread;
};
struct log_place {
    uint32_t how, segment;
    uint64_t off, cycle, checked_end, next_event, at_ns;
    uint32_t turns, counted;
};
int log_index_begin(const char *dir, unsigned tail, struct log_place *place,
                    struct log_entry **entries, size_t *count, size_t *room, char *error);
int log_index_more(const char *dir, struct log_place *place, struct log_entry *entries,
                   size_t *count, size_t room, char *error);
struct log_entry *log_index_copy(const struct log_entry *entries, size_t count, size_t room);
void log_index_free(struct log_entry *entries);
int log_grown(const char *dir, const struct log_entry *last);
struct file_sum { uint64_t size; uint32_t crc; };
int file_sum_check(const char *path, struct file_sum *expected, struct file_sum *found);
"""
_ENTRY = struct.Struct("<QqQQIIIIHHI")  # struct log_entry
_ENTRY_WORDS = _ENTRY.size // 8
_ENTRY_HALVES = _ENTRY.size // 2
_KIND_HALF = 24  # offset of log_entry.kind in 16-bit units
_NR_WORD = 10  # of log_entry.nr in 32-bit units
_THREAD_WORD = 13  # of log_entry.thread in 32-bit units
_HEADER_BYTES = 32  # struct log_segment_header
_TAIL_SEGMENTS = 2  # the newest may have been opened just now and be empty
_NOT_SAID = 2  # file_sum_check(): the name of the file does not tell
# Kinds of which a log may be full; of the others there are few, and where they are is kept.
_MANY = frozenset((int(Kind.SYSCALL), int(Kind.HYPERCALL), int(Kind.TSC)))


def _begins(directory: Path) -> bytes:
    """What its first segment is: another one when the log has lost its beginning."""
    try:
        with (directory / "log-000000.seg").open("rb") as file:
            return file.read(_HEADER_BYTES)
    except OSError:
        return b""


@cache
def _library() -> tuple[FFI, Any]:
    ffi = FFI()
    ffi.cdef(_CDEF)
    return ffi, ffi.dlopen(str(log_library_path()))


def file_sums(path: Path) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Of a stored file size and CRC-32C that it had, and those that it has; None: its name does not
    say."""
    ffi, library = _library()
    expected: Any = ffi.new("struct file_sum *")
    found: Any = ffi.new("struct file_sum *")
    status = library.file_sum_check(os.fsencode(path), expected, found)
    if status < 0:
        raise DamagedRecording(f"{path}: {os.strerror(-status)}")
    if status == _NOT_SAID:
        return None
    return (expected.size, expected.crc), (found.size, found.crc)


class LogIndex:
    """Every record of one rank's log as it was when opened; the bytes stay in the mapped files.

    With `tail` only the first record and those of the last segments.  `more` takes in what has been
    recorded since; what was given before stays as it was.
    """

    def __init__(self, directory: Path, tail: bool = False) -> None:
        ffi, library = _library()
        self._directory = directory
        self._segments: dict[int, tuple[mmap.mmap, memoryview]] = {}
        self._place = ffi.new("struct log_place *")
        self._begins = _begins(directory)
        entries = ffi.new("struct log_entry **")
        count, room = ffi.new("size_t *"), ffi.new("size_t *")
        error = ffi.new("char[256]")
        status = library.log_index_begin(
            os.fsencode(directory),
            _TAIL_SEGMENTS if tail else 0,
            self._place,
            entries,
            count,
            room,
            error,
        )
        text = bytes(ffi.buffer(error)).split(b"\0", 1)[0].decode(errors="replace")
        if status == -errno.EPROTO:
            raise VersionMismatch(f"{directory}: {text}", "record it again with this rdb")
        if status != 0 and status != -errno.EBADMSG:
            raise RdbError(f"{directory}: {text or os.strerror(-status)}", exit_code=5)
        self.damage: str | None = f"{directory}/{text}" if status else None
        self.count = 0
        self.read: int = count[0]
        """So many records have been read for it, those that were read again included."""
        self._few: dict[int, list[int]] = {}
        self._threads_seen = 0  # the highest number so far
        self._sorted = 0  # records that `_few` and `_threads_seen` know
        self._room: int = room[0]
        # Views borrow C memory: `_keep` frees it when the last of them has gone.
        self._keep = ffi.gc(entries[0], library.log_index_free)
        self._use(count[0])

    def _use(self, count: int) -> None:
        ffi, _ = _library()
        self.count = count
        size = self.count * _ENTRY.size
        self._view = memoryview(ffi.buffer(self._keep, size)).cast("B") if size else memoryview(b"")
        self._events = self._view.cast("Q")[::_ENTRY_WORDS] if size else memoryview(b"")

    def more(self) -> bool:
        """Takes in what has been recorded since.  False: the log has to be read anew."""
        ffi, library = _library()
        if self.damage is not None or not self.count or _begins(self._directory) != self._begins:
            return False
        count, error = ffi.new("size_t *", self.count), ffi.new("char[256]")
        before, full = self.count - 1, -errno.ENOSPC
        status = full
        while status == full:
            if count[0] + 1 >= self._room:
                self._room = 2 * self._room
                copy = library.log_index_copy(self._keep, count[0], self._room)
                if copy == ffi.NULL:
                    raise RdbError("out of memory for the index of a log")
                self._keep = ffi.gc(copy, library.log_index_free)
            status = library.log_index_more(
                os.fsencode(self._directory), self._place, self._keep, count, self._room, error
            )
        if status != 0:
            return False
        self.read += count[0] - before
        self._use(count[0])
        return True

    def grown(self) -> bool:
        """May the log have more records by now?  Costs nothing that depends on the log."""
        _, library = _library()
        if not self.count:
            return True
        status: int = library.log_grown(os.fsencode(self._directory), self._keep + (self.count - 1))
        return status != 0

    def check(self) -> None:
        """Refuses a damaged log: an answer from a part of it could be wrong."""
        if self.damage is not None:
            raise DamagedRecording(self.damage)

    def of_kind(self, *kinds: Kind) -> list[int]:
        """Places of all records of these kinds, in order."""
        wanted = {int(kind) for kind in kinds}
        if wanted & _MANY:
            return [place for place, kind in enumerate(self.kinds()) if kind in wanted]
        self._sort()
        found = [place for kind in wanted for place in self._few.get(kind, ())]
        return sorted(found) if len(wanted) > 1 else found

    def highest_thread(self) -> int:
        """Of all records."""
        self._sort()
        return self._threads_seen

    def _sort(self) -> None:
        """Looks at the records that have come since the last time."""
        if self._sorted == self.count:
            return
        part = self._view[self._sorted * _ENTRY.size :]
        for place, kind in enumerate(part.cast("H")[_KIND_HALF::_ENTRY_HALVES], self._sorted):
            if kind not in _MANY:
                self._few.setdefault(kind, []).append(place)
        threads = part.cast("I")[_THREAD_WORD :: _ENTRY.size // 4]
        self._threads_seen = max(self._threads_seen, max(threads))
        self._sorted = self.count

    def of_calls(self, *numbers: int) -> list[int]:
        """Places of all system calls with these numbers, in order."""
        calls = self._words(_NR_WORD)
        syscall = int(Kind.SYSCALL)
        return [
            place
            for place, kind in enumerate(self.kinds())
            if kind == syscall and calls[place] in numbers
        ]

    def of_hypercalls(self, numbers: frozenset[int]) -> list[int]:
        """Places of all calls through the gate with these numbers, in order."""
        calls = self._words(_NR_WORD)
        hypercall = int(Kind.HYPERCALL)
        return [
            place
            for place, kind in enumerate(self.kinds())
            if kind == hypercall and calls[place] in numbers
        ]

    def threads(self) -> list[int]:
        """The thread of each record, by place."""
        return self._words(_THREAD_WORD)

    def kinds(self) -> list[int]:
        """The kind of each record, by place."""
        if not self.count:
            return []
        return self._view.cast("H")[_KIND_HALF::_ENTRY_HALVES].tolist()

    def events(self) -> list[int]:
        """The (first) event of each record, by place."""
        return self._events.tolist()

    def _words(self, at: int) -> list[int]:
        if not self.count:
            return []
        return self._view.cast("I")[at :: _ENTRY.size // 4].tolist()

    def event_times(self) -> Iterator[tuple[int, int, int]]:
        """Each record of an event: the (first) event, when it was answered, how often again."""
        for entry in _ENTRY.iter_unpack(self._view):
            if Kind(entry[8]).is_event:
                yield entry[0], entry[2], entry[7]

    def first_at(self, event: int) -> int:
        """Place of the first record of an event after `event - 1`."""
        return bisect.bisect_left(self._events, event)

    def event_place(self, event: int) -> int | None:
        """Place of the record that holds this event (its first or a repetition)."""
        place = bisect.bisect_right(self._events, event)
        while place > 0:
            place -= 1
            kind, first, repeat = self.brief(place)
            if kind.is_event:
                return place if event <= first + repeat else None
        return None

    def brief(self, place: int) -> tuple[Kind, int, int]:
        """Kind, first event, repetitions: without touching the log itself."""
        entry = _ENTRY.unpack_from(self._view, place * _ENTRY.size)
        return Kind(entry[8]), entry[0], entry[7]

    def where(self, place: int) -> tuple[int, int]:
        """Segment and offset: the same ones for events that go round and round."""
        entry = _ENTRY.unpack_from(self._view, place * _ENTRY.size)
        return entry[4], entry[3]

    def number(self, place: int) -> int:
        """The record's `nr`."""
        return int(_ENTRY.unpack_from(self._view, place * _ENTRY.size)[6])

    def record(self, place: int) -> Record:
        return Record(_ENTRY.unpack_from(self._view, place * _ENTRY.size), self.bytes_of)

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        stop = self.count if stop is None else stop
        part = self._view[start * _ENTRY.size : stop * _ENTRY.size]
        bytes_of = self.bytes_of
        return (Record(entry, bytes_of) for entry in _ENTRY.iter_unpack(part))

    def bytes_of(self, segment: int, offset: int, size: int) -> memoryview:
        """A record, whole; SIZE is what it takes in its segment."""
        data = self._mapped(segment, offset, size)
        if not is_short(data):
            return data
        return expand(data, lambda back, size: self._mapped(segment, offset - back, size))

    def _mapped(self, segment: int, offset: int, size: int) -> memoryview:
        held = self._segments.get(segment)
        if held is None or offset + size > len(held[1]):
            with (self._directory / f"log-{segment:06}.seg").open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            held = self._segments[segment] = (mapped, memoryview(mapped))
        return held[1][offset : offset + size]
