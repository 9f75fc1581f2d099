"""The table of a log's records that librdblog makes (interposer/log/log_index.h), through cffi."""

from __future__ import annotations

import bisect
import errno
import os
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

from rdb.errors import DamagedRecording, RdbError
from rdb.recording.log.bytes import LogBytes
from rdb.recording.log.library import ENTRY, log_library, read_error
from rdb.recording.log.record import Kind, Record
from rdb.recording.log.rows import rows

NR, REPEAT, KIND, NARGS, THREAD, PLACE = 6, 7, 8, 9, 10, 11  # of an entry's fields
TURNS = 0x8000  # LOG_ENTRY_TURNS
ENTRY_WORDS, ENTRY_NUMBERS, ENTRY_HALVES = ENTRY.size // 8, ENTRY.size // 4, ENTRY.size // 2
KIND_HALF = 24  # offset of log_entry.kind in 16-bit units
_REPEAT_WORD = 11  # of log_entry.repeat in 32-bit units
_PLACE_WORD = 7  # of log_entry.place in 64-bit units
_HEADER_BYTES = 32  # struct log_segment_header
_TAIL_SEGMENTS = 2  # the newest may have been opened just now and be empty


def _begins(directory: Path) -> bytes:
    """Header of the first segment; it changes when the log loses its beginning."""
    try:
        with (directory / "log-000000.seg").open("rb") as file:
            return file.read(_HEADER_BYTES)
    except OSError:
        return b""


class LogEntries:
    """An entry is a record, or all turns of a cycle; it is named by its number, from 0."""

    def __init__(self, directory: Path, tail: bool = False) -> None:
        ffi, library = log_library()
        self._directory = directory
        self.bytes_of = LogBytes(directory).bytes_of
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
        failed = read_error(directory, status, error)
        if failed and not isinstance(failed, DamagedRecording):
            raise failed
        self.damage: str | None = failed.message if failed else None
        self.count = 0
        self.read: int = count[0]
        """How many entries were read so far, including those that were read again."""
        self._room: int = room[0]
        # Views borrow C memory, which `_keep` frees when the last view is gone.
        self._keep = ffi.gc(entries[0], library.log_index_free)
        self._plain = True  # no entry has turns
        self._use(count[0], 0)

    def _use(self, count: int, before: int) -> None:
        """Shows `count` entries; those from index `before` on are new or have more repetitions."""
        ffi, _ = log_library()
        self._entries = self.count = count
        size = count * ENTRY.size
        self._view = memoryview(ffi.buffer(self._keep, size)).cast("B") if size else memoryview(b"")
        words = self._view.cast("Q")
        self._events, self._places = words[::ENTRY_WORDS], words[_PLACE_WORD::ENTRY_WORDS]
        if count:
            last = self._entry(count - 1)
            self.count = last[PLACE] + 1 + (last[REPEAT] if last[KIND] == TURNS else 0)
            new = self._view[before * ENTRY.size :].cast("H")[KIND_HALF::ENTRY_HALVES]
            self._plain = self._plain and TURNS not in new.tolist()

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

    def _entry(self, number: int) -> tuple[int, ...]:
        return ENTRY.unpack_from(self._view, number * ENTRY.size)

    def _number(self, place: int) -> int:
        """Index of the entry that holds a place."""
        return place if self._plain else bisect.bisect_right(self._places, place) - 1

    def _at(self, place: int) -> tuple[int, ...]:
        number = self._number(place)
        entry = self._entry(number)
        return self._turn(number, entry, place) if entry[KIND] == TURNS else entry

    def _turn(self, number: int, entry: tuple[int, ...], place: int) -> tuple[int, ...]:
        """A turn as an entry: that of the record it repeats, with the turn's event and time."""
        turn = place - entry[PLACE]
        one = self._entry(number - entry[NARGS] + turn % entry[NARGS])
        return entry[0] + turn, one[1], entry[2], *one[3:PLACE], place

    def _between(self, start: int, stop: int) -> Iterator[tuple[int, ...]]:
        number = self._number(start)
        while start < stop:
            entry = self._entry(number)
            if entry[KIND] == TURNS:
                end = min(stop, entry[PLACE] + entry[REPEAT] + 1)
                for place in range(start, end):
                    yield self._turn(number, entry, place)
                start = end
            else:
                yield entry
                start += 1
            number += 1

    def thread(self, place: int) -> int:
        """The thread of a record."""
        return int(self._at(place)[THREAD])

    def number(self, place: int) -> int:
        """The record's `nr`."""
        return int(self._at(place)[NR])

    def brief(self, place: int) -> tuple[Kind, int, int]:
        """Kind, first event, repetitions; does not read the log."""
        entry = self._at(place)
        return Kind(entry[KIND]), entry[0], entry[REPEAT]

    def record(self, place: int) -> Record:
        return Record(self._at(place), self.bytes_of)

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[Record]:
        stop = self.count if stop is None else stop
        bytes_of = self.bytes_of
        if self._plain:
            part = self._view[start * ENTRY.size : stop * ENTRY.size]
            return (Record(entry, bytes_of) for entry in ENTRY.iter_unpack(part))
        return (Record(entry, bytes_of) for entry in self._between(start, stop))

    def rows(
        self, numbers: array[int], columns: Sequence[tuple[int, str]]
    ) -> Iterator[list[memoryview]] | None:
        """See rdb/recording/log/rows.py; COLUMNS with their codes."""
        codes = "".join(code for _, code in columns)
        wanted = [column for column, _ in columns]
        return rows(self._directory, self._keep, numbers, wanted, codes)

    @property
    def entries(self) -> int:
        """How many there are."""
        return self._entries

    def events_of(self, number: int) -> tuple[int, int]:
        """The first event of an entry, and how many it has."""
        entry = self._entry(number)
        return entry[0], entry[REPEAT] + 1

    def events_in(self, numbers: Sequence[int]) -> int:
        """How many events all these entries have."""
        repeats = self._view.cast("I")[_REPEAT_WORD::ENTRY_NUMBERS] if numbers else ()
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
        return entry[NARGS] if entry[KIND] == TURNS else 0

    def arguments_of(self, number: int) -> int:
        """How many arguments its call has."""
        return self._entry(number)[NARGS]

    def end(self) -> tuple[int, int]:
        """Segment and offset of the end of the last whole record."""
        if not self.count:
            return 0, _HEADER_BYTES
        entry = self._at(self.count - 1)  # of a turn: the record that it repeats
        return entry[4], entry[3] + entry[5]
