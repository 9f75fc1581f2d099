"""librdblog (interposer/log/log_index.h) through cffi: the index of a log, and its bytes."""

from __future__ import annotations

import bisect
import errno
import mmap
import os
import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from rdb.errors import DamagedRecording, RdbError, VersionMismatch
from rdb.recording.log.library import ENTRY as _ENTRY
from rdb.recording.log.library import log_library
from rdb.recording.log.record import Kind, Record
from rdb.recording.log.rows import rows
from rdb.recording.log.turns import Places

_NR, _REPEAT, _KIND, _NARGS, _THREAD, _PLACE = 6, 7, 8, 9, 10, 11
_TURNS = 0x8000  # LOG_ENTRY_TURNS
_NAMESPACE_SHIFT = 16  # of the library in the number of a call through the gate
_ENTRY_WORDS = _ENTRY.size // 8
_ENTRY_HALVES = _ENTRY.size // 2
_KIND_HALF = 24  # offset of log_entry.kind in 16-bit units
_NR_WORD = 10  # of log_entry.nr in 32-bit units
_REPEAT_WORD = 11  # of log_entry.repeat in 32-bit units
_AT_NS_WORD = 2  # of log_entry.at_ns in 64-bit units
_PLACE_WORD = 7  # of log_entry.place in 64-bit units
_THREAD_WORD = 13  # of log_entry.thread in 32-bit units
_HEADER_BYTES = 32  # struct log_segment_header
_SHORT = 1  # LOG_SHORT
_MODEL_MOST = 560  # LOG_MODEL_MAX
_MAPPED_MOST = 64  # segments; each map holds a descriptor (mmap.mmap duplicates it)
_TAIL_SEGMENTS = 2  # the newest may have been opened just now and be empty
_NOT_SAID = 2  # file_sum_check(): the file's name holds no checksum
# Kinds with many records in a log.  The places of records of other kinds are kept in a list.
_MANY = frozenset((int(Kind.SYSCALL), int(Kind.HYPERCALL), int(Kind.TSC), _TURNS))
_RARE = re.compile(b"[^%s]" % b"".join(b"\\x%02x" % (kind & 0xFF) for kind in sorted(_MANY)))
"""A lower byte of another kind."""


def _begins(directory: Path) -> bytes:
    """Header of the first segment; it changes when the log loses its beginning."""
    try:
        with (directory / "log-000000.seg").open("rb") as file:
            return file.read(_HEADER_BYTES)
    except OSError:
        return b""


def file_sums(path: Path) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(size in bytes, CRC-32C) of a stored file, as its name says and as it is now.

    None: its name does not say.  Raises DamagedRecording if the file cannot be read.
    """
    ffi, library = log_library()
    expected: Any = ffi.new("struct file_sum *")
    found: Any = ffi.new("struct file_sum *")
    status = library.file_sum_check(os.fsencode(path), expected, found)
    if status < 0:
        raise DamagedRecording(f"{path}: {os.strerror(-status)}")
    if status == _NOT_SAID:
        return None
    return (expected.size, expected.crc), (found.size, found.crc)


class LogIndex:
    """Every record of one rank's log at the time of opening; the bytes stay in the mapped files.

    A record is named by its place, an index from 0.  A cycle is a sequence of records that repeats;
    each turn (one record of one repetition) has a place, but all turns are one entry of librdblog.

    With `tail` the index holds only the first record and those of the last segments.  `more` adds
    the records that were written since; earlier places stay valid.

    Raises VersionMismatch for a log of another format, RdbError for one that cannot be read.  A
    damaged log is indexed up to the damage; see `check`.
    """

    def __init__(self, directory: Path, tail: bool = False) -> None:
        ffi, library = log_library()
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
        """How many entries were read so far, including those that were read again."""
        self._few: dict[int, list[int]] = {}
        self._threads_seen, self._threads_until = 0, 0  # the highest number so far, of how many
        self._sorted = 0  # number of entries that are in `_few`
        # (kind, number of the call) -> its entries, in order
        self._called: dict[tuple[int, int], array[int]] = defaultdict(lambda: array("Q"))
        self._called_until = 0  # number of entries that are in `_called`
        self._room: int = room[0]
        # Views borrow C memory, which `_keep` frees when the last view is gone.
        self._keep = ffi.gc(entries[0], library.log_index_free)
        self._plain = True  # no entry has turns
        self._use(count[0], 0)

    def _use(self, count: int, before: int) -> None:
        """Shows `count` entries; those from index `before` on are new or have more repetitions."""
        ffi, _ = log_library()
        self._entries = self.count = count
        size = count * _ENTRY.size
        self._view = memoryview(ffi.buffer(self._keep, size)).cast("B") if size else memoryview(b"")
        words = self._view.cast("Q")
        self._events, self._places = words[::_ENTRY_WORDS], words[_PLACE_WORD::_ENTRY_WORDS]
        if count:
            last = self._entry(count - 1)
            self.count = last[_PLACE] + 1 + (last[_REPEAT] if last[_KIND] == _TURNS else 0)
            new = self._view[before * _ENTRY.size :].cast("H")[_KIND_HALF::_ENTRY_HALVES]
            self._plain = self._plain and _TURNS not in new.tolist()

    def more(self) -> bool:
        """Adds the records that were written since.  False: the log must be opened again."""
        ffi, library = log_library()
        if self.damage is not None or not self.count or _begins(self._directory) != self._begins:
            return False
        count, error = ffi.new("size_t *", self._entries), ffi.new("char[256]")
        before, full = self._entries - 1, -errno.ENOSPC
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
        self._use(count[0], before)
        return True

    def grown(self) -> bool:
        """May the log have more records by now?  The cost does not depend on the log's size."""
        _, library = log_library()
        if not self.count:
            return True
        status: int = library.log_grown(
            os.fsencode(self._directory), self._keep + (self._entries - 1)
        )
        return status != 0

    def check(self) -> None:
        """Raises DamagedRecording for a damaged log: an answer from a part of it could be wrong."""
        if self.damage is not None:
            raise DamagedRecording(self.damage)

    def of_kind(self, *kinds: Kind) -> Sequence[int]:
        """Places of all records of these kinds, in order."""
        wanted = {int(kind) for kind in kinds}
        if wanted & _MANY:
            return self._those(
                [number for number, kind in enumerate(self._kinds()) if kind in wanted]
            )
        self._sort()
        found = [place for kind in wanted for place in self._few.get(kind, ())]
        return sorted(found) if len(wanted) > 1 else found

    def highest_thread(self) -> int:
        """The highest thread number of all records."""
        part = self._view[self._threads_until * _ENTRY.size :]
        threads = part.cast("I")[_THREAD_WORD :: _ENTRY.size // 4] if part else ()
        self._threads_seen = max(self._threads_seen, max(threads, default=0))
        self._threads_until = self._entries
        return self._threads_seen

    def _sort(self) -> None:
        """Brings `_few` up to date."""
        if self._sorted == self._entries:
            return
        part = bytes(self._view[self._sorted * _ENTRY.size + 2 * _KIND_HALF :: _ENTRY.size])
        for found in _RARE.finditer(part):
            number = self._sorted + found.start()
            self._few.setdefault(part[found.start()], []).append(self._places[number])
        self._sorted = self._entries

    def of_calls(self, *numbers: int) -> Sequence[int]:
        """Places of all system calls with these numbers, in order."""
        return self.of_each((Kind.SYSCALL, number) for number in numbers)

    def of_hypercalls(self, numbers: frozenset[int]) -> Sequence[int]:
        """Places of all calls through the gate with these numbers, in order."""
        return self.of_each((Kind.HYPERCALL, number) for number in numbers)

    def libraries(self, event: int) -> set[int]:
        """The libraries below the gate that were called up to EVENT, as numbers (RDB_NS_ in
        interposer/interface/gate.h)."""
        self._sort_calls()
        return {
            nr >> _NAMESPACE_SHIFT
            for (kind, nr), entries in self._called.items()
            if kind == Kind.HYPERCALL and self._events[entries[0]] <= event
        }

    def of_each(self, calls: Iterable[tuple[Kind, int]]) -> Sequence[int]:
        """Places of all calls of these kinds and numbers, in order."""
        self._sort_calls()
        found = (self._called[call] for call in calls if call in self._called)
        return self._those(sorted(chain.from_iterable(found)))

    def _sort_calls(self) -> None:
        """Brings `_called` up to date."""
        if self._called_until == self._entries:
            return
        part = self._view[self._called_until * _ENTRY.size :]
        kinds = part.cast("H")[_KIND_HALF::_ENTRY_HALVES].tolist()
        calls = zip(kinds, part.cast("I")[_NR_WORD :: _ENTRY.size // 4].tolist(), strict=True)
        for number, call in enumerate(calls, self._called_until):
            self._called[call].append(number)
        self._called_until = self._entries

    def _kinds(self) -> list[int]:
        """The kind of each entry."""
        return self._view.cast("H")[_KIND_HALF::_ENTRY_HALVES].tolist() if self.count else []

    def _those(self, entries: list[int]) -> Sequence[int]:
        """Places of these entries, and of the turns that repeat them."""
        if self._plain:
            return entries
        found, those = Places(), set(entries)
        turns = {number for number, kind in enumerate(self._kinds()) if kind == _TURNS}
        for number in sorted(those | turns):
            if number in turns:
                entry = self._entry(number)
                period = entry[_NARGS]
                which = tuple(at for at in range(period) if number - period + at in those)
                found.add(entry[_PLACE], entry[_REPEAT] + 1, period, which)
            else:
                found.add(self._places[number], 1, 1, (0,))
        return found

    def thread(self, place: int) -> int:
        """The thread of a record."""
        return int(self._at(place)[_THREAD])

    def switches(self) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
        """For each record of an event: its first event, how many events it is, and a list of (kind,
        thread, number of the call).

        The list has one element.  All turns of a cycle are one item, with an element for each
        record of a period.
        """
        for number, entry in enumerate(_ENTRY.iter_unpack(self._view)):
            period = entry[_NARGS] if entry[_KIND] == _TURNS else 0
            if period or Kind(entry[_KIND]).is_event:
                models = [self._entry(number - period + at) for at in range(period or 1)]
                said = [(one[_KIND], one[_THREAD], one[_NR]) for one in models]
                yield entry[0], entry[_REPEAT] + 1, said

    def event_times(self) -> Iterator[tuple[int, int, int]]:
        """For each record of an event: its first event, the time of the answer in ns, the number of
        further events.  All turns of a cycle are one item."""
        for entry in _ENTRY.iter_unpack(self._view):
            if entry[_KIND] == _TURNS or Kind(entry[_KIND]).is_event:
                yield entry[0], entry[2], entry[_REPEAT]

    def first_at(self, event: int) -> int:
        """Place of the first record of an event after `event - 1`."""
        number = bisect.bisect_left(self._events, event)
        if self._plain or not number:
            return number
        entry = self._entry(number - 1)
        stop = entry[_PLACE] + (entry[_REPEAT] if entry[_KIND] == _TURNS else 0) + 1
        return int(min(entry[_PLACE] + event - entry[0], stop)) if entry[_KIND] == _TURNS else stop

    def event_place(self, event: int) -> int | None:
        """Place of the record that holds this event (its first or a repetition)."""
        number = bisect.bisect_right(self._events, event)
        while number > 0:
            number -= 1
            entry = self._entry(number)
            turns = entry[_KIND] == _TURNS
            if turns or Kind(entry[_KIND]).is_event:
                if event > entry[0] + entry[_REPEAT]:
                    return None
                return int(entry[_PLACE] + (event - entry[0] if turns else 0))
        return None

    def brief(self, place: int) -> tuple[Kind, int, int]:
        """Kind, first event, repetitions; does not read the log."""
        entry = self._at(place)
        return Kind(entry[_KIND]), entry[0], entry[_REPEAT]

    def span_ns(self) -> tuple[int, int]:
        """The first and the newest time of all records but META; 0, 0: there is none."""
        times = self._view.cast("Q")[_AT_NS_WORD::_ENTRY_WORDS] if self._entries else ()
        meta = self.of_kind(Kind.META)
        first = next((at for place, at in enumerate(times) if at and place not in meta), 0)
        return (first, max(times)) if first else (0, 0)

    # An entry of librdblog, a record or all turns of a cycle, is named by its number, from 0.

    @property
    def entries(self) -> int:
        """How many there are."""
        return self._entries

    def numbers_between(self, first: int, last: int) -> range:
        """Numbers of the entries that may hold one of these events."""
        low = bisect.bisect_left(self._events, first)
        return range(max(low - 1, 0), bisect.bisect_right(self._events, last))

    def events_among(
        self, numbers: range, calls: Iterable[tuple[Kind, int]] | None
    ) -> Iterator[tuple[tuple[Kind, int], array[int]]]:
        """Numbers of the events among NUMBERS, by call; CALLS: only these."""
        self._sort_calls()
        for kind, nr in list(self._called) if calls is None else calls:
            if kind == _TURNS or not Kind(kind).is_event:
                continue
            those = self._called_among((kind, nr), numbers)
            if those:
                yield (Kind(kind), nr), those

    def cycles_among(self, numbers: range) -> array[int]:
        """Numbers of the entries that are turns of a cycle."""
        self._sort_calls()
        return self._called_among((_TURNS, 0), numbers)

    def _called_among(self, call: tuple[int, int], numbers: range) -> array[int]:
        known = self._called.get(call, array("Q"))
        low = bisect.bisect_left(known, numbers.start)
        return known[low : bisect.bisect_left(known, numbers.stop, low)]

    def rows(
        self, numbers: array[int], columns: Sequence[tuple[int, str]]
    ) -> Iterator[list[memoryview]] | None:
        """See rdb/recording/log/rows.py; COLUMNS with their codes."""
        codes = "".join(code for _, code in columns)
        wanted = [column for column, _ in columns]
        return rows(self._directory, self._keep, numbers, wanted, codes)

    def events_of(self, number: int) -> tuple[int, int]:
        """The first event of an entry, and how many it has."""
        entry = self._entry(number)
        return entry[0], entry[_REPEAT] + 1

    def events_in(self, numbers: Sequence[int]) -> int:
        """How many events all these entries have."""
        repeats = self._view.cast("I")[_REPEAT_WORD :: _ENTRY.size // 4] if numbers else ()
        return len(numbers) + sum(repeats[number] for number in numbers)

    def time_of(self, number: int) -> int:
        """When it was answered, in ns; of a cycle its last turn."""
        return self._entry(number)[2]

    def place_of(self, number: int) -> int:
        """The place of an entry's record, or of its first turn."""
        return int(self._places[number])

    def period_of(self, number: int) -> int:
        """The period of a cycle, whose first turn equals the entry that many numbers before; 0: it
        is none."""
        entry = self._entry(number)
        return entry[_NARGS] if entry[_KIND] == _TURNS else 0

    def arguments_of(self, number: int) -> int:
        """How many arguments its call has."""
        return self._entry(number)[_NARGS]

    def end(self) -> tuple[int, int]:
        """Segment and offset of the end of the last whole record."""
        if not self.count:
            return 0, _HEADER_BYTES
        entry = self._at(self.count - 1)  # of a turn: the record that it repeats
        return entry[4], entry[3] + entry[5]

    def number(self, place: int) -> int:
        """The record's `nr`."""
        return int(self._at(place)[_NR])

    def record(self, place: int) -> Record:
        return Record(self._at(place), self.bytes_of)

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        stop = self.count if stop is None else stop
        bytes_of = self.bytes_of
        if self._plain:
            part = self._view[start * _ENTRY.size : stop * _ENTRY.size]
            return (Record(entry, bytes_of) for entry in _ENTRY.iter_unpack(part))
        return (Record(entry, bytes_of) for entry in self._between(start, stop))

    def _entry(self, number: int) -> tuple[int, ...]:
        return _ENTRY.unpack_from(self._view, number * _ENTRY.size)

    def _number(self, place: int) -> int:
        """Index of the entry that holds a place."""
        return place if self._plain else bisect.bisect_right(self._places, place) - 1

    def _at(self, place: int) -> tuple[int, ...]:
        number = self._number(place)
        entry = self._entry(number)
        return self._turn(number, entry, place) if entry[_KIND] == _TURNS else entry

    def _turn(self, number: int, entry: tuple[int, ...], place: int) -> tuple[int, ...]:
        """A turn as an entry: that of the record it repeats, with the turn's event and time."""
        turn = place - entry[_PLACE]
        one = self._entry(number - entry[_NARGS] + turn % entry[_NARGS])
        return entry[0] + turn, one[1], entry[2], *one[3:_PLACE], place

    def _between(self, start: int, stop: int) -> Iterator[tuple[int, ...]]:
        number = self._number(start)
        while start < stop:
            entry = self._entry(number)
            if entry[_KIND] == _TURNS:
                end = min(stop, entry[_PLACE] + entry[_REPEAT] + 1)
                for place in range(start, end):
                    yield self._turn(number, entry, place)
                start = end
            else:
                yield entry
                start += 1
            number += 1

    def bytes_of(self, segment: int, offset: int, size: int) -> memoryview:
        """The bytes of a record, expanded if it is a short one; SIZE: its bytes in the segment."""
        data = self._mapped(segment, offset, size)
        if not data[0] & _SHORT:
            return data
        ffi, library = log_library()
        whole, base = bytearray(_MODEL_MOST), self._segments[segment][1]
        out = ffi.from_buffer("uint64_t[]", whole)
        length = library.log_whole(ffi.from_buffer("uint8_t[]", base), len(base), offset, out)
        if not length:
            path = self._directory / f"log-{segment:06}.seg"
            raise DamagedRecording(f"{path}: offset {offset}: expected a short record")
        return memoryview(whole)[:length].toreadonly()

    def _mapped(self, segment: int, offset: int, size: int) -> memoryview:
        held = self._segments.get(segment)
        if held is None or offset + size > len(held[1]):
            path = self._directory / f"log-{segment:06}.seg"
            try:
                with path.open("rb") as file:
                    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            except FileNotFoundError as error:
                raise RdbError(f"{path} is gone", "its job may have dropped it (--keep)") from error
            if len(self._segments) >= _MAPPED_MOST:
                self._segments.clear()  # views keep their maps
            held = self._segments[segment] = (mapped, memoryview(mapped))
        return held[1][offset : offset + size]
