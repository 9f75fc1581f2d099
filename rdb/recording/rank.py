"""The recording of one program of a rank: its log, its checkpoints, its files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdb.checked import line_of
from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.process_stat import process_stat
from rdb.recording.checkpoints import Checkpoint, checkpoint, read_images
from rdb.recording.log.describe import call_name, describe
from rdb.recording.log.head import SEGMENT_HEADER
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import End, EndKind, Kind, Note, Receive, Record
from rdb.recording.log.threads import RecordedThread, Schedule, read_schedule, read_threads
from rdb.recording.state import DAMAGED, KILLED, PAUSED, RUNNING, ProcessState

if TYPE_CHECKING:
    from rdb.recording.verbs.objects import Verbs

_SAME_ROW = re.compile(r"(?<=^events )(\d+)-.*")
_NEAR_RECORDS = 1000  # looking at more in Python is slower than reading the whole log in C
# Cached properties that `refresh` drops.
_SEEN = (
    *("meta", "end", "files", "images", "last_event"),
    *("schedule", "threads"),
)


def runs_rdb(pid: int | None) -> bool:
    """Whether process PID of this host runs rdb-exec.  Its number may have been used again."""
    try:
        executable = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False
    return os.path.basename(executable).startswith("rdb-exec")


class RankRecording:
    """A recording at the time of opening; `refresh()` reads what a running one has added.

    `name` is the name of the rank, process or program (rdb/recording/processes.py).  Methods raise
    DamagedRecording, VersionMismatch or RdbError if the log cannot be read.
    """

    _tail = False

    def __init__(self, path: Path, files_dir: Path, name: str | None = None) -> None:
        self.path = path
        self.files_dir = files_dir
        self.rank = _rank_of(path)
        self.name = str(self.rank) if name is None else name

    def __repr__(self) -> str:
        return f"RankRecording({str(self.path)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Another process opens it anew."""
        return type(self), (self.path, self.files_dir, self.name)

    def glance(self) -> RankGlance:
        """Meta data and end of this rank, without reading all of its log."""
        return RankGlance(self.path, self.files_dir, self.name)

    def grown(self) -> bool:
        """May the log have more records than were read?"""
        return self._index.grown()

    def refresh(self) -> None:
        """Reads new records of a log that has no END record yet; else reads the log again."""
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
        """The log's index.  Raises DamagedRecording for a damaged log."""
        self.check()
        return self._index

    def check(self) -> None:
        """Raises DamagedRecording with file, offset and what was expected there."""
        self._index.check()

    @property
    def damage(self) -> str | None:
        """File, offset and what was expected there; None: the log is not damaged."""
        return self._index.damage

    @property
    def log_end(self) -> tuple[int, int]:
        """Segment and offset of the end of the last whole record."""
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

    @property
    def world_first(self) -> int:
        """The rank of the job that is rank 0 of this process's MPI_COMM_WORLD; not 0 for processes
        that the program spawned."""
        return int(self.meta.get("world_first", 0))

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
    def is_empty(self) -> bool:
        """Was nothing recorded of this child?  Then ld.so rejected its program, or it was killed at
        once, if only while it wrote the image of event 0."""
        return (
            self.name != str(self.rank)
            and self.last_event <= 0
            and not self.images
            and not self.state.lives
        )

    @property
    def settled_event(self) -> int:
        """First event of the last record.  Earlier records do not change; the last one may get more
        repetitions."""
        index = self._index
        return index.brief(index.count - 1)[1] if index.count else 0

    @property
    def open_end(self) -> int | None:
        """The newest event of a log without an END record, which may still grow; else None."""
        return self.last_event if self.end is None and self.last_event >= 0 else None

    @property
    def lean(self) -> bool:
        """Are the bytes of large messages in its senders' recordings only (`--record=lean`)?"""
        return self.meta.get("record") == "lean"

    @property
    def state(self) -> ProcessState:
        if self.damage is not None:
            return DAMAGED
        if self.end is not None:
            return ProcessState(self.end.state)
        host = self.meta.get("host")
        if host is not None and host != os.uname().nodename:
            return ProcessState.on(host)
        if not runs_rdb(self.meta.get("pid")):
            return KILLED
        stat = process_stat(self.meta.get("pid"))
        return PAUSED if stat is not None and stat.state == "T" else RUNNING

    @property
    def cautions(self) -> list[str]:
        """Why a replay may differ, one line each: `event N: ...`, `events N-M: ...`.

        A running rank writes a line about a growing range of events again and again; only the last
        one is returned.
        """
        path = self.path / "cautions"
        written = path.read_bytes().splitlines() if path.exists() else []
        lines = [
            line_of(line) or f"{path}: line {number} is damaged: this caution is lost"
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
        """The stored copy of a file that the program mapped under this path; None: there is
        none."""
        key = self.files.get(path) or self.files.get(os.path.realpath(path))
        if key is None:
            return None
        stored = self.files_dir / key
        return stored if stored.exists() else None

    @cached_property
    def images(self) -> list[Checkpoint]:
        """The checkpoints whose images exist, oldest first."""
        records = map(self._index.record, self._index.of_kind(Kind.CHECKPOINT))
        found = (checkpoint(self.path, one) for one in records)
        return [one for one in found if one is not None]

    @property
    def checkpoints(self) -> list[tuple[int, int]]:
        """(number, event) of each checkpoint."""
        return [(one.number, one.event) for one in self.images]

    @property
    def first_event(self) -> int:
        """The event at which the recording begins; not 0 if --keep has dropped its beginning."""
        return self.images[0].event if self.images else 0

    @property
    def no_beginning(self) -> RdbError | None:
        """Why nothing can be replayed from event 0; None: it can."""
        if self.images and self.images[0].event == 0:
            return None
        dropped = "keep" in self.meta or self.meta.get("record") == "checkpoints"
        if dropped or self.log_begins:
            return RdbError(f"the beginning of rank {self.name} was dropped (--keep)")
        return DamagedRecording(f"{self.path}/ckpt-000000.img is missing")

    @property
    def log_begins(self) -> int:
        """The event at which the log begins; it may be before the first image."""
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
        return read_threads(self._index, self.known_pid)

    @property
    def known_pid(self) -> int:
        """The program's process number, as the program knows it."""
        return int(self.meta.get("known_pid", self.meta.get("pid", 0)))

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
        """Text of an event: `read(3, 0x10..., 100) = 100`, with the thread if there are several.

        TIMES: how many repetitions are shown, if not all of the record.
        """
        return describe(self.event(event), self.schedule.threaded, times)

    def answered_next(self, thread: int, event: int) -> str | None:
        """Name of the next call of a thread that is answered after this event; None: none."""
        place = self.schedule.next_run(thread, event + 1)
        return None if place is None else call_name(self.event(place))

    def verbs(self, event: int | None = None) -> Verbs:
        """Queue pairs and the other verbs objects at an event; None: at the end."""
        from rdb.recording.verbs.objects import verbs_at  # late import: few commands ask

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
        if not start:
            return None
        from rdb.recording.mpi.items import last_received  # late import, as above

        event = last_received(self.path, before_event)
        return None if event is None else self.receives(event)[-1]

    def receive_into(self, event: int, addr: int, size: int = 1) -> Receive | None:
        """The last message with which this event wrote any of these bytes; None: it wrote none.

        In the log the bytes of a message come before the note that describes the message.
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
            elif chunk.note in (Note.RECV, Note.EARLY):
                if offset is not None:
                    found = Receive.of(record, chunk)._replace(offset=offset)
                offset, size_bytes = None, 0
        return found


class RankGlance(RankRecording):
    """`meta`, `end`, `state` and `last_event` of a rank at a cost that does not grow with its log.

    Only the last segments are read, so damage before them is not found.
    """

    _tail = True

    @cached_property
    def images(self) -> list[Checkpoint]:
        """Checkpoints without times, from the image files: most of the log has not been read."""
        return list(read_images(self.path))

    @property
    def index(self) -> LogIndex:
        raise TypeError("a glance has no events")


def _rank_of(path: Path) -> int:
    """N of the directory rank-N that PATH is, or is in."""
    for folder in (path, *path.parents):
        number = folder.name.removeprefix("rank-")
        if folder.name != number and number.isdigit():
            return int(number)
    raise ValueError(f"{path} is not in the directory of a rank")


def _messages(record: Record, note: Note) -> list[Receive]:
    if record.kind is not Kind.HYPERCALL:
        return []
    return [
        Receive.of(record, chunk)
        for chunk in record.chunks
        if chunk.addr == 0 and chunk.note == note
    ]
