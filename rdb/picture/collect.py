"""The content of a picture: calls as slices, messages between them, collectives, marks.

Times come from the log: when each call ended, and how long it took (`Record.took_ns`).
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rdb.errors import RdbError
from rdb.recording.log.describe import library_call
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind, duration_ns, signal_name
from rdb.recording.log.rows import Column
from rdb.recording.log.verbs_calls import verbs_name
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.collectives import collectives
from rdb.recording.mpi.communication import RankCommunication
from rdb.recording.rank import RankRecording
from rdb.recording.store import Job

_SENDS = ("Send", "Ssend", "Rsend", "Bsend", "Isend", "Issend", "Irsend", "Ibsend", "Start")
_WAITS = ("Wait", "Test", "Probe", "Iprobe", "Mprobe", "Improbe", "Cancel", "Request")


class Slice(NamedTuple):
    """One call, or a run of equal calls."""

    start_ns: int
    end_ns: int
    event: int
    name: str
    kind: str
    """`send`, `receive`, `wait`, `collective`, `verbs` or `other`; chooses the colour."""
    times: int
    thread: int
    """Slices of one thread do not overlap."""
    known: bool
    """The start time is known.  If not, the slice is drawn as an instant."""


class Mark(NamedTuple):
    """A point on a lane; `kind` is `checkpoint`, `signal` or `bookmark`."""

    at_ns: int
    event: int
    kind: str
    name: str


@dataclass
class Lane:
    """One rank."""

    rank: int
    state: str
    last_event: int
    start_ns: int
    end_ns: int
    slices: list[Slice] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    by_event: dict[int, int] = field(default_factory=dict)
    """First event of a slice -> index in `slices`."""


class Arrow(NamedTuple):
    """A message.

    `source` and `dest` are indices of lanes; `send` and `receive` indices of slices in them;
    `sent_at` and `received_at` are events.
    """

    source: int
    send: int
    dest: int
    receive: int
    tag: int
    size_bytes: int
    comm: str
    sent_at: int
    received_at: int


class Gathering(NamedTuple):
    """One collective call: a slice of each rank that took part."""

    comm: str
    calls: tuple[tuple[int, int], ...]
    """(index of the lane, index of the slice in it)"""


class Picture(NamedTuple):
    """A whole job.  Lanes, and slices in them, are named by their indices."""

    name: str
    command: str
    lanes: Sequence[Lane]
    arrows: Sequence[Arrow]
    gatherings: Sequence[Gathering]
    missing: Sequence[str]
    """What the picture does not show, and why."""


class Part(NamedTuple):
    """One rank's part of a picture; `missing`: why its messages are not known."""

    lane: Lane
    communication: RankCommunication | None
    missing: str | None


def part(job: Job, rank: int, bookmarks: Mapping[str, tuple[int, int]]) -> Part:
    """BOOKMARKS: name -> (rank, event).  UnknownJob: the rank has no such event."""
    recording = job.rank(rank)
    marked = [(event, name) for name, (of, event) in bookmarks.items() if of == rank]
    for event, _ in marked:
        recording.event(event)
    lane = _lane(recording, rank, marked)
    try:
        return Part(lane, Messages(job).communication(rank), None)
    except RdbError as error:
        return Part(lane, None, f"messages: {error.message}")


def collect(name: str, command: str, parts: Sequence[Part]) -> Picture:
    """The picture of a job.

    If messages cannot be matched, the picture has no arrows and `missing` says why.
    """
    lanes = [one.lane for one in parts]
    known = {one.lane.rank: one.communication for one in parts if one.communication is not None}
    missing = [one.missing for one in parts if one.missing is not None][:1]
    if missing:
        return Picture(name, command, lanes, [], [], missing)
    return Picture(name, command, lanes, _arrows(known, lanes), _gatherings(known, lanes), [])


def _lane(recording: RankRecording, rank: int, marked: Sequence[tuple[int, str]]) -> Lane:
    index = recording.index
    lane = Lane(rank, recording.state, recording.last_event, *index.span_ns())
    ends: dict[int, int] = {}  # thread -> end of its newest slice, in ns
    said: dict[int, tuple[str, str]] = {}  # number of a call -> its name and kind
    for _, event, at_ns, repeat, thread, raw, nr in _calls(index):
        took = duration_ns(raw)
        lane.by_event[event] = len(lane.slices)
        start_ns = max(at_ns - (took or 0), ends.get(thread, 0))
        ends[thread] = at_ns
        if nr not in said:
            called = library_call(nr) or f"call {nr:#x}"
            said[nr] = called, _kind(nr, called)
        start_ns = min(start_ns, at_ns)
        known = took is not None
        lane.slices.append(Slice(start_ns, at_ns, event, *said[nr], repeat + 1, thread, known))
    lane.marks = _marks(recording, marked)
    lane.start_ns = min([lane.start_ns, *(one.start_ns for one in lane.slices[:1])])
    return lane


_CALLS = (*(Column.NUMBER, Column.EVENT, Column.AT_NS, Column.REPEAT, Column.THREAD, Column.TOOK),)


def _calls(index: LogIndex) -> list[tuple[int, ...]]:
    """The columns _CALLS of each MPI and verbs call, and the call's number, in order."""
    every = range(index.entries)
    found: list[tuple[int, ...]] = []
    for (kind, nr), numbers in index.events_among(every, None):
        if kind is Kind.HYPERCALL and nr >> 16:
            batches = index.rows(numbers, [(column, "Q") for column in _CALLS]) or ()
            for batch in batches:
                found += zip(*batch, itertools.repeat(nr), strict=False)
    cycles = index.cycles_among(every)
    if cycles:
        rows = {row[0]: row for row in found}
        for cycle in cycles:
            (first, count), period = index.events_of(cycle), index.period_of(cycle)
            models = [rows.get(cycle - period + at) for at in range(period)]
            at_ns = index.time_of(cycle)
            for turn in range(count):
                model = models[turn % period]
                if model is not None:
                    found.append((cycle, first + turn, at_ns, 0, *model[4:]))
    found.sort()
    return found


def _marks(recording: RankRecording, bookmarks: Sequence[tuple[int, str]]) -> list[Mark]:
    index = recording.index
    found: list[tuple[int, Mark]] = []
    for place in index.of_kind(Kind.CHECKPOINT, Kind.SIGNAL):
        record = index.record(place)
        at = (record.at_ns, record.event)
        if record.kind is Kind.CHECKPOINT:
            found.append((place, Mark(*at, "checkpoint", f"checkpoint {record.nr}")))
        else:
            found.append((place, Mark(*at, "signal", signal_name(record.nr))))
    for event, name in sorted(dict(bookmarks).items()):
        place_of = index.event_place(event)
        if place_of is not None:
            at_ns = index.record(place_of).at_ns
            found.append((place_of, Mark(at_ns, event, "bookmark", name)))
    return [mark for _, mark in sorted(found, key=lambda one: one[0])]


def _kind(nr: int, name: str) -> str:
    if verbs_name(nr) is not None:
        return "verbs"
    if nr in collectives():
        return "collective"
    word = name.removeprefix("MPI_")
    if word in _SENDS:
        return "send"
    if word.startswith(_WAITS):
        return "wait"
    return "receive" if "recv" in word.lower() else "other"


def _slice(lane: Lane, event: int) -> int | None:
    """Index of the newest slice that begins at or before an event; None before the first.

    For an event in a run of equal calls this is the slice of the run.
    """
    place = lane.by_event.get(event)
    if place is not None:
        return place
    low, high = 0, len(lane.slices)
    while low < high:
        middle = (low + high) // 2
        if lane.slices[middle].event <= event:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low else None


def _arrows(known: Mapping[int, RankCommunication], lanes: Sequence[Lane]) -> list[Arrow]:
    found = []
    places = {lane.rank: place for place, lane in enumerate(lanes)}
    for dest, lane in enumerate(lanes):
        receiver = known[lane.rank]
        for (source, comm, tag), receives in receiver.receives.items():
            if source not in places:
                continue
            sender = known[source]
            sends = sender.events(sender.sends.get((lane.rank, comm, tag), array("Q")))
            receipts = zip(receiver.events(receives), receiver.sizes(receives), strict=True)
            for sent, (got, size) in zip(sends, receipts, strict=False):
                start = _slice(lanes[places[source]], sent)
                end = _slice(lane, got)
                if start is not None and end is not None:
                    found.append(
                        Arrow(places[source], start, dest, end, tag, size, comm, sent, got)
                    )
    found.sort(key=lambda one: lanes[one.source].slices[one.send].end_ns)
    return found


def _gatherings(known: Mapping[int, RankCommunication], lanes: Sequence[Lane]) -> list[Gathering]:
    calls: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for lane_place, lane in enumerate(lanes):
        communication = known[lane.rank]
        for name, places in communication.collectives.items():
            for number, place in enumerate(places):
                slice_place = _slice(lane, communication.event(place))
                if slice_place is not None:
                    calls.setdefault((name, number), []).append((lane_place, slice_place))
    return [Gathering(name, tuple(row)) for (name, _), row in calls.items() if len(row) > 1]
