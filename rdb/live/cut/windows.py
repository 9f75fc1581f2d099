"""What windows (one-sided communication, MPI-4.1 chapter 12) demand of a consistent cut.

The logs do not say which operation changed which bytes of a window, nor when, and clocks are not
exact enough. So only two facts count. Synchronised operations have reached the target when it
leaves the next collective that both ranks enter. Bytes that arrived in a window may be of any
operation that had begun, as far as the target could know. A cut contains all operations of an
epoch, with their synchronisation, or none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

from rdb.recording import Job
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import NEVER, Note, Record
from rdb.recording.mpi.communication import RankCommunication

Need = tuple[int, int, int]
"""An event, another rank, and the event of that rank which it needs."""

_MAKES = ("MPI_Win_create", "MPI_Win_allocate", "MPI_Win_create_dynamic", "MPI_Win_allocate_shared")
_WINDOW = re.compile(r"^window=(\d+) ranks=([\d,]+)$", re.MULTILINE)
_READS = ("MPI_Get", "MPI_Rget")
_OPERATIONS = (
    *_READS,
    "MPI_Put",
    "MPI_Rput",
    "MPI_Accumulate",
    "MPI_Raccumulate",
    "MPI_Get_accumulate",
    "MPI_Rget_accumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
)
_ALL_DONE = ("MPI_Win_fence", "MPI_Win_flush_all", "MPI_Win_unlock_all", "MPI_Win_complete")


@dataclass
class Span:
    """Of a rank: from an epoch's first operation to the call that completes all its operations."""

    first: int
    last: int = NEVER
    writes: bool = False
    targets: set[int] = field(default_factory=set)
    exposed: bool = False
    """Whether it is an exposure epoch: from MPI_Win_post to MPI_Win_wait."""


@dataclass
class Window:
    """A window as one rank knows it."""

    name: tuple[str, int]
    """Name of its communicator, and number of the collective that made it: equal in all its
    ranks."""
    members: tuple[int, ...]
    made: int
    memory: list[tuple[int, int]] = field(default_factory=list)
    """First address, and last address + 1, of each part."""
    freed: int = NEVER
    together: list[int] = field(default_factory=list)
    """Events of its fences and of MPI_Win_free."""
    spans: list[Span] = field(default_factory=list)
    _open: Span | None = None
    _exposed: Span | None = None
    _locks: int = 0

    def add(self, name: str, event: int, arguments: dict[str, int], record: Record) -> None:
        if name in _OPERATIONS:
            self._begin(event)
            assert self._open is not None
            self._open.writes |= name not in _READS
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
            self._exposed = Span(event, exposed=True)
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
        """Ends the epoch for TARGET; None: for all targets; -1: for none."""
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
    """Functions with a window argument: number -> name and parameters."""
    return {
        int(one["nr"]): (str(one["name"]), list(one["params"]))
        for one in mpi_functions()
        if "win" in one["params"]
    }


def windows_of(job: Job, rank: int, communication: RankCommunication) -> list[Window]:
    """All windows that the rank made, in order."""
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
            window = Window(named, members, record.event, _memory(name, arguments, record))
            known[handle & 0xFFFFFFFF] = window
            found.append(window)
            continue
        if name == "MPI_Win_free":
            win = next((_number(one.data) for one in record.chunks if one.note == Note.FREED), 0)
        if name == "MPI_Win_attach" and win in known:
            base, size = arguments["base"], arguments["size"]
            known[win].memory.append((base, base + size))
        if win in known:
            for event in range(record.event, record.event + record.repeat + 1):
                known[win].add(name, event, arguments, record)
    return found


def _memory(name: str, arguments: dict[str, int], record: Record) -> list[tuple[int, int]]:
    if "size" not in arguments:
        return []
    base = arguments.get("base", 0)
    if "baseptr" in arguments:
        base = _number(record.written(arguments["baseptr"], 8))
    return [(base, base + arguments["size"])]


def _begun(job: Job, rank: int) -> dict[int, Window]:
    """The windows that a branch began with, by their numbers."""
    found: dict[int, Window] = {}
    try:
        text = (job.rank(rank).path / "mpi-begun").read_text(encoding="ascii")
    except FileNotFoundError:
        return found
    made: dict[str, int] = defaultdict(int)
    for number, ranks in _WINDOW.findall(text):
        made[ranks] += 1
        members = tuple(int(word) for word in ranks.split(","))
        anywhere = [(1, NEVER)]  # the log does not say where its memory is
        found[int(number)] = Window((f"window of {ranks}", made[ranks]), members, 0, anywhere)
    return found


def _number(data: bytes | memoryview) -> int:
    return int.from_bytes(data, "little")


class Exposure:
    """The windows of all ranks, and the dependences that they add to a cut."""

    def __init__(
        self,
        job: Job,
        communications: dict[int, RankCommunication],
        meetings: Iterable[dict[int, int]],
    ) -> None:
        """MEETINGS: rank -> event of collectives that no rank leaves before all have entered."""
        self._windows = {rank: windows_of(job, rank, one) for rank, one in communications.items()}
        self._brought = {
            rank: _brought(job, rank, [part for one in windows for part in one.memory])
            for rank, windows in self._windows.items()
        }
        self._met: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        there = any(self._windows.values())
        for events in [*meetings, *self.together()] if there else ():
            for rank, event in events.items():
                for other, until in events.items():
                    self._met[(rank, other)].append((event, until))
        for pairs in self._met.values():
            pairs.sort()

    def together(self) -> Iterator[dict[int, int]]:
        """Rank -> event of the collectives on each window: fences, freeing it."""
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
        """Each rank with a dependence of one of its events."""
        for rank, windows in self._windows.items():
            for window in windows:
                for span in window.spans:
                    yield rank, (span.first, rank, span.last)
                    yield from self._of_others(rank, window, span)

    def _of_others(self, rank: int, window: Window, span: Span) -> Iterator[tuple[int, Need]]:
        members = window.members
        others = {members[number] for number in span.targets if 0 <= number < len(members)}
        for other in sorted(set(members) if span.exposed else others):
            if other == rank or other not in self._windows:
                continue
            if span.last != NEVER:
                yield rank, (span.last, other, self._certain(rank, other, window, span.last))
            if span.writes:
                brought = self._brought[other]
                at = bisect_left(brought, self._known(rank, other, span.first))
                if at < len(brought):
                    yield other, (brought[at], rank, span.last)

    def _certain(self, rank: int, other: int, window: Window, event: int) -> int:
        """The event at which OTHER leaves the next collective after EVENT that RANK enters; or
        NEVER.
        """
        pairs = self._met[(rank, other)]
        at = bisect_left(pairs, (event if event in window.together else event + 1, 0))
        return pairs[at][1] if at < len(pairs) else NEVER

    def _known(self, rank: int, other: int, event: int) -> int:
        """The last event of OTHER that RANK, at EVENT, knows to have begun."""
        pairs = self._met[(rank, other)]
        at = bisect_left(pairs, (event, 0))
        return pairs[at - 1][1] if at > 0 else 0


def _brought(job: Job, rank: int, memory: list[tuple[int, int]]) -> list[int]:
    """The events that brought bytes into the windows' memory, from whatever source."""
    return [
        record.event
        for record in (job.rank(rank).records() if memory else ())
        if record.kind.is_event
        and any(
            addr and addr < stop and start < addr + size
            for addr, size in (chunk.span for chunk in record.chunks)
            for start, stop in memory
        )
    ]
