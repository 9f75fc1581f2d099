"""What processes share that a restart cannot bring back: sockets to processes outside of the job,
and memory windows of type 2 (verbs).

Like rdb/live/refusals/at_event.py, for a whole cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rdb.live.sockets import End, ends_of, listened_to
from rdb.recording import Job, RankRecording
from rdb.recording.log.verbs_calls import NAMESPACE_VERBS, Call, posted
from rdb.recording.verbs.begun import begun_with
from rdb.recording.verbs.contexts import MAKE, Contexts

_BIND_MW = 8  # of enum ibv_wr_opcode
_TYPE_2 = 2  # of enum ibv_mw_type
_CALLS = (*MAKE, Call.POST_SEND, Call.DEALLOC_MW, Call.CLOSE)


def refused_between(job: Job, events: Mapping[int, int], trees: Collection[int] = ()) -> list[str]:
    """A line for each object that cannot be brought back, with the event that made it.

    EVENTS: the cut. TREES: ranks whose process plan handles their sockets.
    """
    found = [
        (rank, *one) for rank, until in events.items() for one in _verbs(job.rank(rank), until)
    ]
    return [
        f"rank {rank} cannot be restarted at event {events[rank]}: {what} (event {event})"
        for rank, what, event in (*found, *_sockets(job, events, trees))
    ]


def _verbs(recording: RankRecording, until: int) -> Iterator[tuple[str, int]]:
    """Memory windows that posted requests have bound: peers may invalidate them."""
    windows: set[int] = set()
    begun = begun_with(recording.path)
    contexts = Contexts(begun["seen"].get("contexts") if begun else None)
    # windows from before the branch are possible: of these, or of contexts that are not known
    older = contexts.all() or ({0} if begun else set())
    bound = None
    index = recording.index
    for place in index.of_hypercalls(frozenset(NAMESPACE_VERBS << 16 | one for one in _CALLS)):
        record = index.record(place)
        if record.event > until:
            break
        call = Call(record.nr & 0xFFFF)
        if call is Call.POST_SEND:
            if any(one.opcode == _BIND_MW for one in posted(record)):
                bound = record.event
        elif record.result < 0:
            continue
        elif call is Call.DEALLOC_MW:
            windows.discard(record.args[0])
        elif call is Call.CLOSE:
            windows = {one for one in windows if not contexts.holds(record.args[0], one)}
            older -= {0, record.args[0]}
        else:
            contexts.made(record)
            if call is Call.ALLOC_MW and record.args[1] == _TYPE_2:
                windows.add(record.result)
    if bound is not None and (windows or older):
        yield "one of its memory windows is bound by a posted request", bound


def _sockets(
    job: Job, events: Mapping[int, int], trees: Collection[int]
) -> Iterator[tuple[int, str, int]]:
    ends = {rank: ends_of(job.rank(rank)) for rank in events}
    known = {(end.key, end.connects) for of in ends.values() for end in of}
    ports = {port for rank in events for port in listened_to(job.rank(rank))}
    for rank, until in events.items():
        for end in ends[rank] if rank not in trees else []:
            if end.begun <= until < end.closed and not _has_other(end, known, ports):
                what = "one of its sockets is connected to a process outside of the job"
                yield rank, f"{what} ({end.key})", end.begun


def _has_other(end: End, known: set[tuple[str, bool]], ports: set[int]) -> bool:
    """Whether a rank has the other end, or listens where this end has connected."""
    if (end.key, not end.connects) in known or end.key.startswith("unix:"):
        return True
    port = end.key.rpartition("/")[2]
    return end.connects and port.isdigit() and int(port) in ports
