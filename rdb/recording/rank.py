"""The recording of one program of a rank: its log, its checkpoints, its files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rdb.checked import line_of
from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.recording.checkpoints import Checkpoint, checkpoint, read_images
from rdb.recording.log.describe import call_name, describe
from rdb.recording.log.head import SEGMENT_HEADER
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import End, EndKind, Kind, Note, Receive, Record
from rdb.recording.log.threads import RecordedThread, Schedule, read_schedule, read_threads
from rdb.recording.mpi.communication import last_received
from rdb.recording.verbs.objects import Verbs, verbs_at

META_VERSION = 1
_SAME_ROW = re.compile(r"(?<=^events )(\d+)-.*")
_NEAR_RECORDS = 1000  # to look at more takes longer than to read the whole log without Python
# What is known from reading the log, until `refresh`.
_SEEN = (
    *("meta", "end", "files", "images", "last_event"),
    *("schedule", "threads"),
)


class RankRecording:
    """A recording as it was when opened; `refresh()` looks again at one that still runs.

    A rank's own, or that of one of its processes: `name` says which (rdb/recording/processes.py).
    """

    _tail = False

    def __init__(self, path: Path, files_dir: Path, name: str | None = None) -> None:
        self.path = path
        self.files_dir = files_dir
        self.rank = _rank_of(path)
        self.name = str(self.rank) if name is None else name

    def __repr__(self) -> str:
        return f"RankRecording({str(self.path)!r})"

    def glance(self) -> RankGlance:
        """What this rank is and how it ended, without reading all of it."""
        return RankGlance(self.path, self.files_dir, self.name)

    def grown(self) -> bool:
        """May there be more by now than when this was read?"""
        return self._index.grown()

    def refresh(self) -> None:
        """Of a log that has no end yet, what is new is read; of others all."""
        index: LogIndex | None = self.__dict__.get("_index")
        if index is not None and (index.of_kind(Kind.END) or not index.more()):
            del self._index
        for name in _SEEN:
            self.__dict__.pop(name, None)

    @cached_property
    def _index(self) -> LogIndex:
        if not (self.path / "log-000000.seg").exists():
            raise DamagedRecording(f"{self.path}/log-000000.seg: expected a log, there is none")
        return LogIndex(self.path, self._tail)

    @property
    def index(self) -> LogIndex:
        """The log's index; refuses a damaged log."""
        self.check()
        return self._index

    def check(self) -> None:
        """Raises DamagedRecording with file, offset and what was expected there."""
        self._index.check()

    @property
    def damage(self) -> str | None:
        """File, offset and what was expected there, or None for a whole log."""
        return self._index.damage

    @property
    def log_end(self) -> tuple[int, int]:
        """Segment and offset of what comes after the last whole record."""
        return self._index.end()

    @cached_property
    def meta(self) -> dict[str, Any]:
        places = self._index.of_kind(Kind.META)
        if not places:
            return {}
        try:
            meta = json.loads(self._index.record(places[0]).text())
        except ValueError as error:
            raise DamagedRecording(f"{self.path}: expected JSON in the first record") from error
        return dict(meta)

    @cached_property
    def end(self) -> End | None:
        places = self._index.of_kind(Kind.END)
        if not places:
            return None
        record = self._index.record(places[-1])
        return End(EndKind(record.nr), record.result, record.text())

    @cached_property
    def last_event(self) -> int:
        """Number of the newest event; -1 if not even the start was recorded."""
        for place in range(self._index.count - 1, -1, -1):
            kind, event, repeat = self._index.brief(place)
            if kind.is_event:
                return event + repeat
        return -1

    @property
    def settled_event(self) -> int:
        """What was recorded before this event stays as it is; the last record may count on."""
        index = self._index
        return index.brief(index.count - 1)[1] if index.count else 0

    @property
    def open_end(self) -> int | None:
        """The newest event that is known of a log without an end, which may grow; else None."""
        return self.last_event if self.end is None and self.last_event >= 0 else None

    @property
    def state(self) -> str:
        """`running`, `paused`, `exited 3`, `signal 11`, `killed`, `became PROG`, `damaged`, ...

        Of a rank of another machine that has not ended, nobody here knows: `open on HOST`.
        """
        if self.damage is not None:
            return "damaged"
        if self.end is not None:
            return self.end.state
        host = self.meta.get("host")
        if host is not None and host != os.uname().nodename:
            return f"open on {host}"
        if not self._alive():
            return "killed"
        return "paused" if self._stopped() else "running"

    def _alive(self) -> bool:
        """Is the process that wrote this log still there?  A later one may have got its number."""
        pid = self.meta.get("pid")
        try:
            executable = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return False
        return os.path.basename(executable).startswith("rdb-exec")

    def _stopped(self) -> bool:
        """By SIGSTOP (proc(5): state T)."""
        try:
            stat = Path(f"/proc/{self.meta.get('pid')}/stat").read_text(errors="replace")
        except OSError:
            return False
        return stat.rpartition(") ")[2].startswith("T")

    @property
    def cautions(self) -> list[str]:
        """Why a replay may differ (shared memory that others write): `event N: ...`.  And where
        events have piled up, `events N-M: ...`: of each such row what was said of it last."""
        path = self.path / "cautions"
        written = path.read_bytes().splitlines() if path.exists() else []
        lines = [
            line_of(line) or f"{path}: line {number} is damaged: what it says is lost"
            for number, line in enumerate(written, 1)
        ]
        return list({_SAME_ROW.sub(r"\1", line): line for line in lines}.values())

    @cached_property
    def files(self) -> dict[str, str]:
        """Path as the program used it -> key in the store."""
        files = {}
        for place in self._index.of_kind(Kind.FILE):
            text = self._index.record(place).text()
            fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            if "path" in fields and "key" in fields:
                files[fields["path"]] = fields["key"]
        return files

    def store_path(self, path: str) -> Path | None:
        """The store's copy of a file that the program mapped under this path."""
        key = self.files.get(path) or self.files.get(os.path.realpath(path))
        if key is None:
            return None
        stored = self.files_dir / key
        return stored if stored.exists() else None

    @cached_property
    def images(self) -> list[Checkpoint]:
        """The checkpoints that one can start from, oldest first."""
        records = map(self._index.record, self._index.of_kind(Kind.CHECKPOINT))
        found = (checkpoint(self.path, one) for one in records)
        return [one for one in found if one is not None]

    @property
    def checkpoints(self) -> list[tuple[int, int]]:
        """(number, event) of each checkpoint."""
        return [(one.number, one.event) for one in self.images]

    @property
    def first_event(self) -> int:
        """Where the recording begins: 0, unless --keep has dropped what was before."""
        return self.images[0].event if self.images else 0

    @property
    def no_beginning(self) -> RdbError | None:
        """Why nothing can be replayed from event 0, if so."""
        if self.images and self.images[0].event == 0:
            return None
        dropped = "keep" in self.meta or self.meta.get("record") == "checkpoints"
        if dropped or self.log_begins:
            return RdbError(f"the beginning of rank {self.name} was dropped (--keep)")
        return DamagedRecording(f"{self.path}/ckpt-000000.img is missing")

    @property
    def log_begins(self) -> int:
        """The event from which on there is a log: it may begin before the first image."""
        with open(self.path / "log-000000.seg", "rb") as file:
            _, _, _, begins = SEGMENT_HEADER.unpack(file.read(SEGMENT_HEADER.size))
        return int(begins)

    @cached_property
    def schedule(self) -> Schedule:
        """Which thread ran when."""
        return read_schedule(self._index)

    @cached_property
    def threads(self) -> list[RecordedThread]:
        """The program's threads; the first one is number 1."""
        return read_threads(self._index, int(self.meta.get("pid", 0)))

    def records(self, first: int = 0, last: int | None = None) -> Iterator[Record]:
        """All records, events and others, from event `first` to event `last` inclusive."""
        index = self.index
        start = 0
        if first > 0:
            place = index.event_place(first)
            start = index.first_at(first) if place is None else place
        stop = index.count if last is None else index.first_at(last + 1)
        return index.records(start, stop)

    def event(self, event: int) -> Record:
        """The record that holds this event."""
        place = self.index.event_place(event)
        if place is None:
            raise UnknownJob(
                f"rank {self.name} has no event {event}",
                f"its events are {self.first_event} to {self.last_event}",
            )
        return self._index.record(place)

    def describe(self, event: int, times: int | None = None) -> str:
        """The event in words, `read(3, 0x10..., 100) = 100`; of several threads which.  TIMES: so
        many in a row are meant, not all of its record."""
        return describe(self.event(event), self.schedule.threaded, times)

    def answered_next(self, thread: int, event: int) -> str | None:
        """The call of that thread that is answered first after this event, by name."""
        place = self.schedule.next_run(thread, event + 1)
        return None if place is None else call_name(self.event(place))

    def verbs(self, event: int | None = None) -> Verbs:
        """Queue pairs and all else that verbs calls had made at an event; by default at the end."""
        return verbs_at(self, event)

    def receives(self, event: int) -> list[Receive]:
        """Messages whose receipt this event completed."""
        return _messages(self.event(event), Note.RECV)

    def sends(self, event: int) -> list[Receive]:
        """Messages that this event posted."""
        return _messages(self.event(event), Note.SEND)

    def last_receive(self, before_event: int) -> Receive | None:
        """The newest message received by an event up to and including `before_event`."""
        index = self.index
        end = index.first_at(before_event + 1)
        start = max(end - _NEAR_RECORDS, 0)
        for place in reversed(range(start, end)):
            if index.brief(place)[0] is Kind.HYPERCALL:
                found = _messages(index.record(place), Note.RECV)
                if found:
                    return found[-1]
        event = last_received(self.path, before_event) if start else None
        return None if event is None else self.receives(event)[-1]

    def receive_into(self, event: int, addr: int, size: int = 1) -> Receive | None:
        """The message with which this event (over)wrote any of these bytes; the last one if many.

        The log has the bytes of each message in front of the note that says whose they are.
        """
        record = self.event(event)
        if record.kind is not Kind.HYPERCALL:
            return None
        found, offset, size_bytes = None, None, 0
        for chunk in record.chunks:
            start, length = chunk.span
            if start:
                if start < addr + size and addr < start + length:
                    offset = size_bytes + max(addr - start, 0) if offset is None else offset
                size_bytes += length
            elif chunk.note == Note.RECV:
                if offset is not None:
                    found = replace(Receive.of(record, chunk), offset=offset)
                offset, size_bytes = None, 0
        return found


class RankGlance(RankRecording):
    """`meta`, `end`, `state` and `last_event` of a rank at a cost that does not grow with its log.

    Only the last segments are read: damage before them is found by a RankRecording alone.
    """

    _tail = True

    @cached_property
    def images(self) -> list[Checkpoint]:
        """From the images themselves: most of the log has not been read.  Without times."""
        return list(read_images(self.path))

    @property
    def index(self) -> LogIndex:
        raise TypeError("a glance has no events")


def _rank_of(path: Path) -> int:
    """N of the rank-N in which this directory is, or which it is."""
    for folder in (path, *path.parents):
        number = folder.name.removeprefix("rank-")
        if folder.name != number and number.isdigit():
            return int(number)
    raise ValueError(f"{path} is in no rank's directory")


def _messages(record: Record, note: Note) -> list[Receive]:
    if record.kind is not Kind.HYPERCALL:
        return []
    return [
        Receive.of(record, chunk)
        for chunk in record.chunks
        if chunk.addr == 0 and chunk.note == note
    ]
