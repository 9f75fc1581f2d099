"""The content of a picture: calls as slices, messages between them, collectives, marks.

Times come from the log: when each call ended, and how long it took (`Record.took_ns`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rdb.errors import RdbError
from rdb.recording.log.describe import call_name
from rdb.recording.log.record import Kind, signal_name
from rdb.recording.log.verbs_calls import verbs_name
from rdb.recording.messages.messages import Messages, RanksLike
from rdb.recording.mpi.collectives import collectives
from rdb.recording.rank import RankRecording

_SENDS = ("Send", "Ssend", "Rsend", "Bsend", "Isend", "Issend", "Irsend", "Ibsend", "Start")
_WAITS = ("Wait", "Test", "Probe", "Iprobe", "Mprobe", "Improbe", "Cancel", "Request")


@dataclass(frozen=True)
class Slice:
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


@dataclass(frozen=True)
class Mark:
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


@dataclass(frozen=True)
class Arrow:
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


@dataclass(frozen=True)
class Gathering:
    """One collective call: a slice of each rank that took part."""

    comm: str
    calls: tuple[tuple[int, int], ...]
    """(index of the lane, index of the slice in it)"""


@dataclass(frozen=True)
class Picture:
    """A whole job.  Lanes, and slices in them, are named by their indices."""

    name: str
    command: str
    lanes: Sequence[Lane]
    arrows: Sequence[Arrow]
    gatherings: Sequence[Gathering]
    missing: Sequence[str]
    """What the picture does not show, and why."""


def collect(
    job: RanksLike, name: str, command: str, bookmarks: Mapping[str, tuple[int, int]]
) -> Picture:
    """The picture of a job.  BOOKMARKS: name -> (rank, event).

    If messages cannot be matched, the picture has no arrows and `missing` says why.
    """
    lanes = [_lane(job.rank(rank), rank, bookmarks) for rank in job.ranks]
    arrows: list[Arrow] = []
    gatherings: list[Gathering] = []
    missing: list[str] = []
    try:
        messages = Messages(job)
        arrows = _arrows(messages, lanes)
        gatherings = _gatherings(messages, lanes)
    except RdbError as error:
        missing.append(f"messages: {error.message}")
    return Picture(name, command, lanes, arrows, gatherings, missing)


def _lane(recording: RankRecording, rank: int, bookmarks: Mapping[str, tuple[int, int]]) -> Lane:
    index = recording.index
    lane = Lane(rank, recording.state, recording.last_event, 0, 0)
    ends: dict[int, int] = {}  # thread -> end of its newest slice, in ns
    wanted = {event: name for name, (of, event) in bookmarks.items() if of == rank}
    for place in range(index.count):
        record = index.record(place)
        if record.kind is Kind.META:
            continue
        lane.start_ns = lane.start_ns or record.at_ns
        lane.end_ns = max(lane.end_ns, record.at_ns)
        if record.kind is Kind.CHECKPOINT:
            lane.marks.append(
                Mark(record.at_ns, record.event, "checkpoint", f"checkpoint {record.nr}")
            )
        elif record.kind is Kind.SIGNAL:
            lane.marks.append(Mark(record.at_ns, record.event, "signal", signal_name(record.nr)))
        elif record.kind is Kind.HYPERCALL and record.nr >> 16:
            took = record.took_ns
            lane.by_event[record.event] = len(lane.slices)
            start_ns = max(record.at_ns - (took or 0), ends.get(record.thread, 0))
            ends[record.thread] = record.at_ns
            called = call_name(record) or f"call {record.nr:#x}"
            lane.slices.append(
                Slice(
                    min(start_ns, record.at_ns),
                    record.at_ns,
                    record.event,
                    called,
                    _kind(record.nr, called),
                    record.repeat + 1,
                    record.thread,
                    took is not None,
                )
            )
        if record.kind.is_event:
            for event in range(record.event, record.event + record.repeat + 1) if wanted else ():
                if event in wanted:
                    lane.marks.append(Mark(record.at_ns, event, "bookmark", wanted[event]))
    lane.start_ns = min([lane.start_ns, *(one.start_ns for one in lane.slices[:1])])
    return lane


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


def _arrows(messages: Messages, lanes: Sequence[Lane]) -> list[Arrow]:
    found = []
    places = {lane.rank: place for place, lane in enumerate(lanes)}
    for dest, lane in enumerate(lanes):
        receiver = messages.communication(lane.rank)
        for (source, comm, tag), receives in receiver.receives.items():
            if source not in places:
                continue
            sender = messages.communication(source)
            sends = sender.sends.get((lane.rank, comm, tag), ())
            for send, receive in zip(sends, receives, strict=False):
                sent, got = sender.event(send), receiver.event(receive)
                start = _slice(lanes[places[source]], sent)
                end = _slice(lane, got)
                if start is not None and end is not None:
                    size = receiver.item(receive).size_bytes
                    found.append(
                        Arrow(places[source], start, dest, end, tag, size, comm, sent, got)
                    )
    found.sort(key=lambda one: lanes[one.source].slices[one.send].end_ns)
    return found


def _gatherings(messages: Messages, lanes: Sequence[Lane]) -> list[Gathering]:
    calls: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for lane_place, lane in enumerate(lanes):
        communication = messages.communication(lane.rank)
        for name, places in communication.collectives.items():
            for number, place in enumerate(places):
                slice_place = _slice(lane, communication.event(place))
                if slice_place is not None:
                    calls.setdefault((name, number), []).append((lane_place, slice_place))
    return [Gathering(name, tuple(row)) for (name, _), row in calls.items() if len(row) > 1]
