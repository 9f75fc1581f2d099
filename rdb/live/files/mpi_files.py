"""What a job did to files of MPI, from its logs: openings, contents, and each rank's calls.

A collective on a file is in the cut in all ranks or in none. What was done before the cut is done
again, so the file has its content of the cut (rdb/live/files/file_order.py).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path

from rdb.live.files.mpi_files_begun import files_begun
from rdb.recording import Job
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import NEVER, Note, Record
from rdb.recording.messages.messages import Messages

Span = tuple[int, int]

_NOTE = struct.Struct("<4IQ")  # struct rdb_note_mpi_file
_TURN = struct.Struct("<Qq")  # struct rdb_note_file_turn
_OPEN, _CLOSE, _DELETE = "MPI_File_open", "MPI_File_close", "MPI_File_delete"
_TOGETHER = (
    *("MPI_File_set_view", "MPI_File_set_size", "MPI_File_preallocate", "MPI_File_set_atomicity"),
    *("MPI_File_sync", "MPI_File_set_info", "MPI_File_seek_shared", "MPI_File_close"),
)
_NOTHING_DONE = ("_end", "get_")
_GIVES = ("MPI_File_get_view", "MPI_File_get_info", "MPI_File_get_group")


class Was(IntEnum):
    """enum rdb_file_was: what was in a file just before the call."""

    UNSAID = 0
    ABSENT = 1
    KEPT = 2
    SAME = 3
    LOST = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A successful call on a file."""

    rank: int
    event: int
    name: str
    at_ns: int
    position: int = -1
    """The shared file pointer; -1: unknown or unused."""

    @property
    def together(self) -> bool:
        """Whether all ranks that have the file open make this call together."""
        return self.name in _TOGETHER or "_all" in self.name or "_ordered" in self.name


@dataclass(slots=True)
class Opening:
    """From an MPI_File_open to its MPI_File_close; or an MPI_File_delete, which ends at once."""

    path: str
    writes: bool
    opened: dict[int, Call] = field(default_factory=dict)
    closed: dict[int, int] = field(default_factory=dict)
    calls: dict[int, list[Call]] = field(default_factory=lambda: defaultdict(list))
    """The calls of each rank after the opening."""
    was: Was = Was.UNSAID
    says: int = -1
    """The rank whose log has the content before the opening."""
    kept: Path | None = None
    born: bool = False
    """Whether it was open when a branch began."""
    asked: list[tuple[int, int]] = field(default_factory=list)
    """Rank and event of calls that gave the program something of it, such as a view's datatypes."""

    def begun(self, events: dict[int, int]) -> bool:
        return all(call.event <= events[rank] for rank, call in self.opened.items())

    def open_at(self, events: dict[int, int]) -> bool:
        return self.begun(events) and any(
            self.closed.get(rank, NEVER) > events[rank] for rank in self.opened
        )

    def needed(self, events: dict[int, int]) -> bool:
        """Whether the restart has to open the file again.

        It is open at the cut or was written to, or the program had got something from it.
        """
        asked = any(event <= events[rank] for rank, event in self.asked)
        return self.begun(events) and (self.writes or self.open_at(events) or asked)

    def together(self) -> Iterator[dict[int, Call | None]]:
        """For each collective on the file, the call of each rank; None: the rank has not reached
        it.
        """
        rows = {rank: [one for one in self.calls[rank] if one.together] for rank in self.opened}
        for number in range(max(map(len, rows.values()), default=0)):
            yield {rank: row[number] if number < len(row) else None for rank, row in rows.items()}


class Files:
    def __init__(self, job: Job, messages: Messages) -> None:
        self.openings: list[Opening] = []
        self._shared: dict[tuple[str, int], Opening] = {}
        self.begun = files_begun(job)
        for rank in job.ranks:
            self._read(job, rank, messages)

    def together(self) -> Iterator[dict[int, int]]:
        """Rank -> event of the collectives on files.

        Openings are not among them: these are collectives of their communicator.
        """
        for one in self.openings:
            for calls in one.together():
                yield {rank: call.event if call else NEVER for rank, call in calls.items()}

    def _read(self, job: Job, rank: int, messages: Messages) -> None:
        recording = job.rank(rank)
        names = _names()
        places = recording.index.of_hypercalls(frozenset(names))
        if not places:
            self._born(rank)
            return
        communication = messages.communication(rank)
        numbered = {
            communication.event(place): (name, number)
            for name, calls in communication.collectives.items()
            for number, place in enumerate(calls)
        }
        open_now = self._born(rank)
        for place in places:
            record = recording.index.record(place)
            name = names[record.nr]
            if not record.result and name in _GIVES and record.args[0] in open_now:
                open_now[record.args[0]].asked.append((rank, record.event))
            if record.result or any(word in name for word in _NOTHING_DONE):
                continue
            at_ns, position = _turn(record)
            said = _said(record)
            for event in range(record.event, record.event + record.repeat + 1):
                call = Call(rank, event, name, at_ns, position)
                if name in (_OPEN, _DELETE):
                    if said is None:  # recorded by an older rdb; see open_spans()
                        continue
                    one = self._opening(call, said, numbered.get(event), recording.path)
                    open_now[said.number] = one
                elif name == _CLOSE:
                    if said is not None and said.number in open_now:
                        one = open_now.pop(said.number)
                        one.closed[rank] = event
                        one.calls[rank].append(call)
                elif record.args[0] in open_now:
                    open_now[record.args[0]].calls[rank].append(call)

    def _born(self, rank: int) -> dict[int, Opening]:
        """The files that the rank had open when the branch began, by number."""
        found: dict[int, Opening] = {}
        for number, one in self.begun.open_files.get(rank, {}).items():
            opening = self._shared.get(one.key)
            if opening is None:
                opening = Opening(one.path, one.writes, born=True)
                self.openings.append(opening)
                self._shared[one.key] = opening
            opening.opened[rank] = Call(rank, 0, _OPEN, 0)
            found[number] = opening
        return found

    def _opening(
        self, call: Call, said: _Said, number: tuple[str, int] | None, folder: Path
    ) -> Opening:
        one = self._shared.get(number) if number is not None else None
        if one is None:
            one = Opening(said.path, said.writes)
            self.openings.append(one)
            if number is not None:
                self._shared[number] = one
        one.opened[call.rank] = call
        if call.name == _DELETE:
            one.closed[call.rank] = call.event
        if said.was is not Was.UNSAID:
            one.was, one.says = said.was, call.rank
            one.kept = folder / f"mpi-file-{said.kept}" if said.was is Was.KEPT else None
        return one


@dataclass(frozen=True, slots=True)
class _Said:
    number: int
    was: Was
    kept: int
    writes: bool
    path: str


def _said(record: Record) -> _Said | None:
    for chunk in record.chunks:
        if not chunk.addr and chunk.note == Note.MPI_FILE:
            number, was, kept, writes, _ = _NOTE.unpack_from(chunk.data)
            path = bytes(chunk.data[_NOTE.size :]).decode(errors="surrogateescape")
            return _Said(number, Was(was), kept, bool(writes), path)
    return None


def _turn(record: Record) -> tuple[int, int]:
    for chunk in record.chunks:
        if not chunk.addr and chunk.note == Note.FILE_TURN:
            at_ns, position = _TURN.unpack_from(chunk.data)
            return at_ns, position
    return record.at_ns, -1


@cache
def _names() -> dict[int, str]:
    """Hypercall number -> name, for the calls on files."""
    return {
        int(one["nr"]): str(one["name"])
        for one in mpi_functions()
        if str(one["name"]).startswith("MPI_File_")
    }


@cache
def _number(name: str) -> int:
    return next((number for number, known in _names().items() if known == name), -1)


def opens(number: int) -> bool:
    """Whether NUMBER is MPI_File_open."""
    return number == _number(_OPEN)


def open_spans(job: Job, rank: int) -> list[Span]:
    """Spans of events in which the rank has an MPI file open, for logs that lack the contents.

    No cut can be inside such a span. Empty if the log has the contents.
    """
    index = job.rank(rank).index
    opening, closing = _number(_OPEN), _number(_CLOSE)
    spans: list[Span] = []
    count, begun = 0, 0
    for place in index.of_hypercalls(frozenset((opening, closing))):
        record = index.record(place)
        if record.result:
            continue
        if _said(record) is not None:
            return []
        for event in range(record.event, record.event + record.repeat + 1):
            if record.nr == opening:
                begun = event if not count else begun
                count += 1
            elif count:
                count -= 1
                if not count:
                    spans.append((begun, event - 1))
    if count:
        spans.append((begun, NEVER - 1))
    return spans


def span_at(spans: Sequence[Span], event: int) -> Span | None:
    """The span that contains EVENT, or None."""
    at = bisect_right(spans, (event, NEVER)) - 1
    return spans[at] if at >= 0 and event <= spans[at][1] else None
