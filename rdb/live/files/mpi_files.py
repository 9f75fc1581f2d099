"""What a job did to files of MPI, from its logs: who opened which, what was in it, and the calls in
the order of each rank.

Calls on a file that are collectives are all in the cut or none; and what was done by then is done
again, so a file is at the cut as it was (rdb/live/files/file_order.py).
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
from rdb.recording.log.record import Note, Record
from rdb.recording.messages.messages import Messages

NEVER = 1 << 62
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
    """enum rdb_file_was: what was in a file right before the call."""

    UNSAID = 0
    ABSENT = 1
    KEPT = 2
    SAME = 3
    LOST = 4


@dataclass(frozen=True, slots=True)
class Call:
    """One on a file, that was successful."""

    rank: int
    event: int
    name: str
    at_ns: int
    position: int = -1
    """Of the shared file pointer; -1: not known, or not used."""

    @property
    def together(self) -> bool:
        """Is it one of all ranks that have the file open?"""
        return self.name in _TOGETHER or "_all" in self.name or "_ordered" in self.name


@dataclass(slots=True)
class Opening:
    """From an MPI_File_open to its MPI_File_close; or a MPI_File_delete, which is over at once."""

    path: str
    writes: bool
    opened: dict[int, Call] = field(default_factory=dict)
    closed: dict[int, int] = field(default_factory=dict)
    calls: dict[int, list[Call]] = field(default_factory=lambda: defaultdict(list))
    """After it was opened."""
    was: Was = Was.UNSAID
    says: int = -1
    """The rank that says what was in it."""
    kept: Path | None = None
    born: bool = False
    """It was open when a branch began."""
    asked: list[tuple[int, int]] = field(default_factory=list)
    """Ranks and events of calls that gave the program something of it: a view's datatypes."""

    def begun(self, events: dict[int, int]) -> bool:
        return all(call.event <= events[rank] for rank, call in self.opened.items())

    def open_at(self, events: dict[int, int]) -> bool:
        return self.begun(events) and any(
            self.closed.get(rank, NEVER) > events[rank] for rank in self.opened
        )

    def needed(self, events: dict[int, int]) -> bool:
        """At the cut, or for what the program had got of it by then."""
        asked = any(event <= events[rank] for rank, event in self.asked)
        return self.begun(events) and (self.writes or self.open_at(events) or asked)

    def together(self) -> Iterator[dict[int, Call | None]]:
        """Of each of its collectives the call of each rank, or that it never came to it."""
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
        """Rank -> event of the collectives on files; that they were opened is one of their
        communicator."""
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
                    if said is None:  # of an older rdb: open_spans()
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
        """By number, those that the rank had open when the branch began."""
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
    """Hypercall number -> name, of the calls on files."""
    return {
        int(one["nr"]): str(one["name"])
        for one in mpi_functions()
        if str(one["name"]).startswith("MPI_File_")
    }


@cache
def _number(name: str) -> int:
    return next((number for number, known in _names().items() if known == name), -1)


def opens(number: int) -> bool:
    """Is it the call that opens one?"""
    return number == _number(_OPEN)


def open_spans(job: Job, rank: int) -> list[Span]:
    """First and last events after which the rank has a file of MPI open, in a recording that does
    not say what was in its files: no cut of it can be there."""
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
    """The one that the event is in."""
    at = bisect_right(spans, (event, NEVER)) - 1
    return spans[at] if at >= 0 and event <= spans[at][1] else None
