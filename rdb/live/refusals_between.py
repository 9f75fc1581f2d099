"""What a restart at a cut would refuse, as far as the logs say it: before anything is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rdb.errors import Unsupported
from rdb.live.sockets import End, ends_of, listened_to
from rdb.recording import Job, RankRecording
from rdb.recording.record import Kind, Record
from rdb.recording.verbs_calls import NAMESPACE_VERBS, Call, posted

_BIND_MW = 8  # of enum ibv_wr_opcode
_BINDS = frozenset({Call.BIND_MW, Call.POST_SEND})
_CALLS = (Call.ATTACH_MCAST, Call.DETACH_MCAST, Call.DESTROY_QP, Call.DEALLOC_MW, Call.CLOSE)


def check_refusals(job: Job, events: Mapping[int, int]) -> None:
    """Of verbs and sockets; EVENTS: the cut."""
    for rank, until in events.items():
        for what, hint in _verbs(job.rank(rank), until):
            raise Unsupported(f"rank {rank} at event {until}: {what}", hint)
    _sockets(job, events)


def _verbs(recording: RankRecording, until: int) -> Iterator[tuple[str, str]]:
    groups: set[int] = set()
    windows = 0
    index = recording.index
    numbers = frozenset(NAMESPACE_VERBS << 16 | call for call in (*_CALLS, *_BINDS))
    for place in index.of_hypercalls(numbers):
        record = index.record(place)
        if record.event > until:
            break
        call = Call(record.nr & 0xFFFF)
        if call is Call.ATTACH_MCAST and record.result == 0:
            groups.add(record.args[0])
        elif call in (Call.DETACH_MCAST, Call.DESTROY_QP) and record.result == 0:
            groups.discard(record.args[0])
        elif call is Call.CLOSE:
            groups.clear()
            windows = 0
        elif call is Call.DEALLOC_MW:
            windows -= record.result == 0 and windows > 0
        elif record.kind is Kind.HYPERCALL:
            windows += _bound(call, record)
    if groups:
        yield (
            "a queue pair is in a multicast group, which cannot be brought back",
            "choose an event before it was attached or after it was detached",
        )
    if windows:
        yield (
            "a memory window is bound, which cannot be brought back",
            "choose an event before it was bound or after it was freed",
        )


def _bound(call: Call, record: Record) -> int:
    if call is Call.BIND_MW:
        return int(record.result == 0)
    return sum(one.opcode == _BIND_MW for one in posted(record))


def _sockets(job: Job, events: Mapping[int, int]) -> None:
    ends = {rank: ends_of(job.rank(rank)) for rank in events}
    known = {(end.key, end.connects) for of in ends.values() for end in of}
    ports = {port for rank in events for port in listened_to(job.rank(rank))}
    for rank, until in events.items():
        for end in ends[rank]:
            if end.begun <= until < end.closed and not _has_other(end, known, ports):
                raise Unsupported(
                    f"rank {rank} at event {until}: one of its sockets is connected to a process "
                    f"that is not of the job ({end.key})",
                    "choose an event before it was connected or after it was closed",
                )


def _has_other(end: End, known: set[tuple[str, bool]], ports: set[int]) -> bool:
    """One that nobody has accepted yet comes to who listens there."""
    if (end.key, not end.connects) in known or end.key.startswith("unix:"):
        return True
    port = end.key.rpartition("/")[2]
    return end.connects and port.isdigit() and int(port) in ports
