"""What windows (one-sided communication) demand of a consistent cut.

The logs do not say whose operation changed which bytes of a window, so time does: an operation may
be seen by its target from the moment it began, and is there at the target's first call after it was
synchronised.  A cut has an epoch's operations all, with their synchronisation, or none of them.
Times are those of the machines the ranks ran on.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from rdb.recording import Job
from rdb.recording.communication import RankCommunication
from rdb.recording.describe import mpi_functions
from rdb.recording.record import Kind, Note, Record

NEVER = 1 << 62
Need = tuple[int, int, int]
"""An event, another rank, and the event of that rank which it needs."""

_MAKES = ("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_create_dynamic", "MPI_Win_allocate_shared")
_WINDOW = re.compile(r"^window=(\d+) ranks=([\d,]+)$", re.MULTILINE)
_READS = ("MPI_Get", "MPI_Rget")
_WRITES = ("MPI_Put", "MPI_Rput")
_CHANGES = (
    "MPI_Accumulate",
    "MPI_Raccumulate",
    "MPI_Get_accumulate",
    "MPI_Rget_accumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
)
_OPERATIONS = (*_READS, *_WRITES, *_CHANGES)
_ALL_DONE = ("MPI_Win_fence", "MPI_Win_flush_all", "MPI_Win_unlock_all", "MPI_Win_complete")


@dataclass
class Span:
    """Of a rank: from the first operation of an epoch to the call after which all are complete."""

    first: int
    last: int = NEVER
    changes: bool = False
    """More than puts, which may be done twice."""
    targets: set[int] = field(default_factory=set)


@dataclass
class Window:
    """As one rank knows it."""

    name: tuple[str, int]
    """Of its communicator, and which of its collectives made it: the same in all its ranks."""
    members: tuple[int, ...]
    made: int
    freed: int = NEVER
    together: list[int] = field(default_factory=list)
    """Fences, and the call that frees it."""
    spans: list[Span] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    _open: Span | None = None
    _exposed: Span | None = None
    _locks: int = 0

    def add(self, name: str, event: int, arguments: dict[str, int], record: Record) -> None:
        self.calls.append(event)
        if name in _OPERATIONS:
            self._begin(event)
            assert self._open is not None
            self._open.changes |= name in _CHANGES
            self._open.targets.add(arguments["target_rank"])
        elif name in ("MPI_Win_lock", "MPI_Win_start"):
            self._begin(event)
            self._locks += name == "MPI_Win_lock"
        elif name == "MPI_Win_unlock":
            self._locks -= 1
            self._end(event, None if self._locks == 0 else -1)
        elif name == "MPI_Win_flush" and self._locks == 0:
            self._end(event, arguments["rank"])
        elif name in _ALL_DONE and self._locks == 0:
            self._end(event, None)
        elif name == "MPI_Win_post":
            self._exposed = Span(event)
            self.spans.append(self._exposed)
        elif name == "MPI_Win_wait" or (name == "MPI_Win_test" and _said_yes(record, arguments)):
            if self._exposed is not None:
                self._exposed.last = event
            self._exposed = None
        if name == "MPI_Win_fence":
            self.together.append(event)
        elif name == "MPI_Win_free":
            self.together.append(event)
            self.freed = event
            self._end(event, None)

    def _begin(self, event: int) -> None:
        if self._open is None:
            self._open = Span(event)
            self.spans.append(self._open)

    def _end(self, event: int, target: int | None) -> None:
        """Of the operations on a target, or on all; -1: of none."""
        if self._open is None or target == -1:
            return
        if target is not None and self._open.targets - {target}:
            return
        self._open.last = event
        self._open = None


def _said_yes(record: Record, arguments: dict[str, int]) -> bool:
    return record.written(arguments["flag"], 4)[:1] == b"\1"


@cache
def _functions() -> dict[int, tuple[str, list[str]]]:
    """Those about windows: number -> name and parameters."""
    return {
        int(one["nr"]): (str(one["name"]), list(one["params"]))
        for one in mpi_functions()
        if "win" in one["params"]
    }


class Clock:
    """When a rank's calls of MPI were answered."""

    def __init__(self, job: Job, rank: int) -> None:
        index = job.rank(rank).index
        self.events: list[int] = []
        self.times: list[int] = []
        for place in index.of_kind(Kind.HYPERCALL):
            if index.number(place) >> 16:
                record = index.record(place)
                for event in range(record.event, record.event + record.repeat + 1):
                    self.events.append(event)
                    self.times.append(record.at_ns)

    def time(self, event: int) -> int:
        at = bisect_left(self.events, event)
        return self.times[at] if at < len(self.times) else NEVER

    def before(self, event: int) -> int:
        """When the call before it was answered: it began after that."""
        at = bisect_left(self.events, event)
        return self.times[at - 1] if at > 0 else 0

    def last_until(self, at_ns: int) -> int:
        at = bisect_right(self.times, at_ns)
        return self.events[at - 1] if at > 0 else 0

    def first_after(self, at_ns: int) -> int:
        at = bisect_left(self.times, at_ns)
        return self.events[at] if at < len(self.events) else NEVER

    def first_begun_after(self, at_ns: int) -> int:
        at = bisect_left(self.times, at_ns) + 1
        return self.events[at] if at < len(self.events) else NEVER


def windows_of(job: Job, rank: int, communication: RankCommunication) -> list[Window]:
    """All that the rank made, in order."""
    functions = _functions()
    index = job.rank(rank).index
    places = index.of_hypercalls(frozenset(functions))
    known = _begun(job, rank)
    found = list(known.values())
    if not places:
        return found
    made = {
        communication.event(place): (name, number)
        for name, places_there in communication.collectives.items()
        for number, place in enumerate(places_there)
    }
    for place in places:
        record = index.record(place)
        if record.result:
            continue
        name, params = functions[record.nr]
        arguments = dict(zip(params, record.args, strict=False))
        win = arguments["win"]
        if name in _MAKES:
            handle = int.from_bytes(record.written(win, 8), "little")
            if record.event not in made or not handle:
                continue
            named = made[record.event]
            members = communication.communicators[named[0]].members or tuple(job.ranks)
            window = Window(named, members, record.event)
            known[handle & 0xFFFFFFFF] = window
            found.append(window)
            continue
        if name == "MPI_Win_free":
            win = next((_number(one.data) for one in record.chunks if one.note == Note.FREED), 0)
        if win in known:
            for event in range(record.event, record.event + record.repeat + 1):
                known[win].add(name, event, arguments, record)
    return found


def _begun(job: Job, rank: int) -> dict[int, Window]:
    """Those that a branch began with, by their numbers."""
    found: dict[int, Window] = {}
    try:
        text = (job.rank(rank).path / "mpi-begun").read_text(encoding="ascii")
    except FileNotFoundError:
        return found
    made: dict[str, int] = defaultdict(int)
    for number, ranks in _WINDOW.findall(text):
        made[ranks] += 1
        members = tuple(int(word) for word in ranks.split(","))
        found[int(number)] = Window((f"window of {ranks}", made[ranks]), members, 0)
    return found


def _number(data: bytes | memoryview) -> int:
    return int.from_bytes(data, "little")


class Exposure:
    """The windows of all ranks, and what they make a cut need."""

    def __init__(
        self,
        job: Job,
        communications: dict[int, RankCommunication],
        meetings: list[dict[int, int]],
    ) -> None:
        """MEETINGS: rank -> event of collectives that nobody leaves before all have come."""
        self._windows = {rank: windows_of(job, rank, one) for rank, one in communications.items()}
        ranks = communications if any(self._windows.values()) else ()
        self._clocks = {rank: Clock(job, rank) for rank in ranks}
        self._met: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for events in meetings if self._clocks else ():
            for rank, event in events.items():
                for other, until in events.items():
                    self._met[(rank, other)].append((event, until))
        for pairs in self._met.values():
            pairs.sort()

    def together(self) -> Iterator[dict[int, int]]:
        """Rank -> event of what all ranks of a window do: fences, freeing it."""
        named: dict[tuple[str, int], dict[int, Window]] = defaultdict(dict)
        for rank, windows in self._windows.items():
            for window in windows:
                named[window.name][rank] = window
        for there in named.values():
            members = next(iter(there.values())).members
            for number in range(max(len(one.together) for one in there.values())):
                yield {
                    rank: there[rank].together[number]
                    if rank in there and number < len(there[rank].together)
                    else NEVER
                    for rank in members
                }

    def needs(self) -> Iterator[tuple[int, Need]]:
        """Rank and what one of its events needs."""
        for rank, windows in self._windows.items():
            for window in windows:
                others = [one for one in window.members if one != rank and one in self._clocks]
                for event in window.calls:
                    # what its memory showed others they had from their calls before
                    for other in others:
                        until = self._clocks[other].last_until(self._clocks[rank].time(event))
                        yield rank, (event, other, until)
                for span in window.spans:
                    yield rank, (span.first, rank, span.last)
                    yield from self._of_targets(rank, window, span)

    def _of_targets(self, rank: int, window: Window, span: Span) -> Iterator[tuple[int, Need]]:
        clock = self._clocks[rank]
        for number in span.targets:
            other = window.members[number] if 0 <= number < len(window.members) else rank
            if other == rank or other not in self._clocks:
                continue
            theirs = self._clocks[other]
            if span.last != NEVER and span.last not in window.together:
                seen = theirs.first_begun_after(clock.time(span.last))
                yield rank, (span.last, other, min(seen, self._meeting(rank, other, span.last)))
            if span.changes:
                yield other, (theirs.first_after(clock.before(span.first)), rank, span.last)

    def _meeting(self, rank: int, other: int, event: int) -> int:
        """The event with which OTHER leaves the next collective that RANK comes to."""
        pairs = self._met[(rank, other)]
        at = bisect_right(pairs, (event, NEVER))
        return pairs[at][1] if at < len(pairs) else NEVER
