"""What processes have between them that no restart brings back: sockets to others, multicast groups
and memory windows of verbs.  As rdb/live/refusals.py, of a whole cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rdb.live.sockets import End, ends_of, listened_to
from rdb.recording import Job, RankRecording
from rdb.recording.verbs_calls import NAMESPACE_VERBS, Call, posted

_BIND_MW = 8  # of enum ibv_wr_opcode
_CALLS = (
    *(Call.ATTACH_MCAST, Call.DETACH_MCAST, Call.DESTROY_QP, Call.BIND_MW, Call.POST_SEND),
    *(Call.DEALLOC_MW, Call.CLOSE),
)


def refused_between(job: Job, events: Mapping[int, int]) -> list[str]:
    """A line for each, with the event that made it; EVENTS: the cut."""
    found = [
        (rank, *one) for rank, until in events.items() for one in _verbs(job.rank(rank), until)
    ]
    return [
        f"rank {rank} cannot be restarted at event {events[rank]}: {what} (event {event})"
        for rank, what, event in (*found, *_sockets(job, events))
    ]


def _verbs(recording: RankRecording, until: int) -> Iterator[tuple[str, int]]:
    groups: dict[int, int] = {}  # queue pairs, and the events at which they were attached
    windows: list[int] = []
    index = recording.index
    for place in index.of_hypercalls(frozenset(NAMESPACE_VERBS << 16 | one for one in _CALLS)):
        record = index.record(place)
        if record.event > until:
            break
        call, handle = Call(record.nr & 0xFFFF), record.args[0]
        if call is Call.POST_SEND:
            windows += [record.event for one in posted(record) if one.opcode == _BIND_MW]
        elif record.result != 0:
            continue
        elif call is Call.ATTACH_MCAST:
            groups[handle] = record.event
        elif call in (Call.DETACH_MCAST, Call.DESTROY_QP):
            groups.pop(handle, None)
        elif call is Call.BIND_MW:
            windows.append(record.event)
        elif call is Call.DEALLOC_MW:
            windows = windows[1:]
        else:
            groups, windows = {}, []
    for event in groups.values():
        yield "a queue pair of it is in a multicast group", event
    if windows:
        yield "a memory window of it is bound", windows[-1]


def _sockets(job: Job, events: Mapping[int, int]) -> Iterator[tuple[int, str, int]]:
    ends = {rank: ends_of(job.rank(rank)) for rank in events}
    known = {(end.key, end.connects) for of in ends.values() for end in of}
    ports = {port for rank in events for port in listened_to(job.rank(rank))}
    for rank, until in events.items():
        for end in ends[rank]:
            if end.begun <= until < end.closed and not _has_other(end, known, ports):
                what = "one of its sockets is connected to a process that is not of the job"
                yield rank, f"{what} ({end.key})", end.begun


def _has_other(end: End, known: set[tuple[str, bool]], ports: set[int]) -> bool:
    """One that nobody has accepted yet comes to who listens there."""
    if (end.key, not end.connects) in known or end.key.startswith("unix:"):
        return True
    port = end.key.rpartition("/")[2]
    return end.connects and port.isdigit() and int(port) in ports
