"""The happened-before order of a job: vector clocks over matched messages and collectives
(Mattern, "Virtual Time and Global States of Distributed Systems", 1989).

Events divide a rank's run into intervals: interval k is the computation between the answers of
events k and k + 1.  A message sent by event f carries what its sender knew in interval f - 1; the
rank that receives it by event e knows that from interval e on.  The vector clock of (rank, k) says
for each rank the last interval that is known there.  Interval A happened before B if B knows A.
Clocks are not stored: a clock is the fixed point of looking up, in each rank, the newest message
from each other rank.

One-sided communication: a fence orders all ranks of a window.  MPI_Win_wait comes after the
MPI_Win_complete of its group.  An unlock of a target comes after an earlier unlock of the same
target by another rank if one of the locks is exclusive and the clock of their host orders them
(locks.py).  Not seen, hence concurrent: what only shared locks and flushes order, locks that
overlap in time or are on different hosts, files (also MPI-IO), pipes and memory that ranks share.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, takewhile

from rdb.recording.log.record import NEVER
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.collectives import NOPRECEDE, Flow, collectives, window_calls
from rdb.recording.mpi.communication import RankCommunication
from rdb.recording.mpi.epochs import completed
from rdb.recording.mpi.locks import released

Clock = Mapping[int, int]
"""Rank -> its last known interval.  Ranks of which nothing is known are missing."""


class _Heard:
    """What a rank knows of others by its own messages, epochs and locks."""

    def __init__(self) -> None:
        self._events: dict[int, array[int]] = {}
        self._known: dict[int, array[int]] = {}

    def add(self, source: int, pairs: list[tuple[int, int]]) -> None:
        """PAIRS: (event that received, interval of SOURCE that is known from then on)."""
        pairs.sort()
        events, known, most = array("Q"), array("q"), -1
        for event, interval in pairs:
            most = max(most, interval)
            events.append(event)
            known.append(most)
        self._events[source], self._known[source] = events, known

    def by(self, event: int) -> Iterator[tuple[int, int]]:
        for source, events in self._events.items():
            place = bisect_right(events, event)
            if place:
                yield source, self._known[source][place - 1]


class _Calls:
    """Collectives of one kind on a communicator, in order of the events that completed them, each
    with the highest number of those complete by then.  The newest collective tells all that the
    earlier ones told."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        pairs.sort()
        self.events = array("Q", [event for event, _ in pairs])
        self.numbers = array("Q", accumulate((number for _, number in pairs), max))

    def by(self, event: int) -> int | None:
        place = bisect_right(self.events, event)
        return self.numbers[place - 1] if place else None


@dataclass(frozen=True, slots=True)
class _Kind:
    """Collectives of one kind: communicator, flow, root or -1."""

    comm: str
    flow: Flow
    root: int
    calls: _Calls

    @property
    def first(self) -> int:
        return self.calls.events[0]

    @property
    def last(self) -> int:
        return self.calls.events[-1]


class _Spans:
    """Finds the kinds of which an event has seen some collectives, but not the last one. A program
    that makes a communicator for each of its files has thousands of kinds, and few at a time. (An
    interval tree: de Berg et al., "Computational Geometry", 10.1.)"""

    def __init__(self, kinds: list[_Kind]) -> None:
        self._middle = sorted(kind.first for kind in kinds)[len(kinds) // 2]
        here = [kind for kind in kinds if kind.first <= self._middle < kind.last]
        self._by_first = sorted(here, key=lambda kind: kind.first)
        self._by_last = sorted(here, key=lambda kind: -kind.last)
        self._before = _spans([kind for kind in kinds if kind.last <= self._middle])
        self._after = _spans([kind for kind in kinds if kind.first > self._middle])

    def at(self, event: int) -> Iterator[_Kind]:
        if event < self._middle:
            yield from takewhile(lambda kind: kind.first <= event, self._by_first)
            further = self._before
        else:
            yield from takewhile(lambda kind: kind.last > event, self._by_last)
            further = self._after
        if further is not None:
            yield from further.at(event)


def _spans(kinds: list[_Kind]) -> _Spans | None:
    kinds = [kind for kind in kinds if kind.first < kind.last]
    return _Spans(kinds) if kinds else None


class Clocks:
    """The clocks of a job.  The log of a rank is read at the first question about it."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._ranks = tuple(messages.ranks)
        self._heard: dict[int, _Heard] = {}
        self._spans: dict[int, _Spans | None] = {}

    def past(self, rank: int, event: int) -> Clock:
        """The vector clock of RANK after the answer of EVENT."""
        known = {rank: event}
        work = [rank]
        while work:
            one = work.pop()
            for source, interval in self._told(one, known[one]):
                if interval > known.get(source, -1):
                    known[source] = interval
                    if source not in work:
                        work.append(source)
        return known

    def before(self, one: tuple[int, int], other: tuple[int, int]) -> bool:
        """Did interval ONE (rank, event) happen before OTHER, of another rank?"""
        return self.past(*other).get(one[0], -1) >= one[1]

    def time(self, rank: int, event: int) -> int:
        """A scalar clock: the number of intervals in the past, which grows along every chain of
        causes (Lamport, "Time, Clocks, and the Ordering of Events", 1978)."""
        return sum(interval + 1 for interval in self.past(rank, event).values())

    def depths(self, places: Mapping[int, int]) -> dict[int, int]:
        """For one interval (rank -> event) of each rank: the length of the longest chain of the
        other intervals that happened before it."""
        pasts = {rank: self.past(rank, event) for rank, event in places.items()}
        depths: dict[int, int] = {}
        # An interval that is before another has the smaller past.
        for rank in sorted(places, key=lambda one: sum(pasts[one].values()) + len(pasts[one])):
            depths[rank] = 1 + max(
                (depths[other] for other in depths if pasts[rank].get(other, -1) >= places[other]),
                default=-1,
            )
        return depths

    def collective(self, rank: int, event: int) -> tuple[str, int, str] | None:
        """Communicator, number on it, and function of the collective that EVENT completed."""
        if rank not in self._ranks:
            return None
        communication, functions = self._messages.communication(rank), collectives()
        for name in communication.collectives:
            for number, (nr, _, complete) in enumerate(communication.calls(name)):
                if complete == event and nr in functions:
                    return name, number, functions[nr][0]
        return None

    def _told(self, rank: int, event: int) -> Iterator[tuple[int, int]]:
        """(source, its last known interval) from what RANK itself received up to EVENT."""
        if rank not in self._ranks:
            return
        if rank not in self._heard:
            self._read(rank)
        yield from self._heard[rank].by(event)
        spans = self._spans[rank]
        for kind in spans.at(event) if spans is not None else ():
            number = kind.calls.by(event)
            assert number is not None
            yield from self._brought(rank, kind, number)

    def _brought(self, rank: int, kind: _Kind, number: int) -> Iterator[tuple[int, int]]:
        """(source, its last known interval) from a collective that RANK has completed."""
        communication = self._messages.communication(rank)
        for source in self._sources(communication, rank, kind):
            interval = self._call(source, kind.comm, number)
            if interval is not None:
                yield source, interval

    def _call(self, rank: int, name: str, number: int) -> int | None:
        """The interval in which RANK made its NUMBER-th collective on that communicator."""
        communication = self._messages.communication(rank)
        calls = communication.collectives.get(name)
        if calls is None or number >= len(calls):
            return None
        return communication.event(calls[number]) - 1

    def _sources(self, communication: RankCommunication, rank: int, kind: _Kind) -> Iterable[int]:
        """Ranks whose data this collective brought to RANK."""
        known = communication.communicators.get(kind.comm)
        if known is None:
            return ()
        members = known.members
        if members is None:
            members = self._ranks
        others = [one for one in members if one != rank and one in self._ranks]
        if kind.flow is Flow.FROM_ROOT:
            if known.inter or not 0 <= kind.root < len(members):
                return ()
            return [members[kind.root]] if members[kind.root] != rank else []
        if kind.flow is Flow.UPWARDS:
            return others[: members.index(rank)] if rank in members else []
        return others

    def _read(self, rank: int) -> None:
        heard = _Heard()
        communication = self._messages.communication(rank)
        pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (source, comm, tag), receives in communication.receives.items():
            if source not in self._ranks:
                continue
            sender = self._messages.communication(source)
            sends = sender.sends.get((rank, comm, tag), ())
            pairs[source] += [
                (communication.event(receive), sender.event(send) - 1)
                for receive, send in zip(receives, sends, strict=False)
            ]
        for event, source, send in self._messages.found(rank):
            if send != NEVER:
                pairs[source].append((event, send - 1))
        for name, epochs in communication.epochs.items():
            others = {
                one: self._messages.communication(one).epochs[name]
                for one in self._ranks
                if one != rank and name in self._messages.communication(one).epochs
            }
            for wait, origin, complete in completed(rank, epochs, others):
                pairs[origin].append((wait, complete - 1))
        for unlock, other, before in self._unlocks(rank, communication):
            pairs[other].append((unlock, before - 1))
        kinds = _kinds(communication, rank, self._ranks)
        for kind in kinds:
            for source, interval in self._brought(rank, kind, kind.calls.numbers[-1]):
                pairs[source].append((kind.last, interval))
        for source, found in pairs.items():
            heard.add(source, found)
        self._heard[rank] = heard
        self._spans[rank] = _spans(kinds)

    def _unlocks(
        self, rank: int, communication: RankCommunication
    ) -> Iterator[tuple[int, int, int]]:
        """(event of an unlock of RANK, another rank, event of that rank's earlier unlock)."""
        for name, own in communication.locks.items():
            near = self._messages.on_host_of(rank)
            others = {
                one: self._messages.communication(one).locks[name]
                for one in near
                if name in self._messages.communication(one).locks
            }
            yield from released(own, others, lambda event: self._messages.called_ns(rank, event))


def _kinds(communication: RankCommunication, rank: int, ranks: tuple[int, ...]) -> list[_Kind]:
    """The collectives that RANK has completed, without those that bring it nothing."""
    found: list[_Kind] = []
    all_collectives, on_windows = collectives(), window_calls()
    for name in communication.collectives:
        kinds: dict[tuple[Flow, int], list[tuple[int, int]]] = defaultdict(list)
        known = communication.communicators.get(name)
        members = ranks if known is None or known.members is None else known.members
        for number, (nr, peer, complete) in enumerate(communication.calls(name)):
            if complete is None or (nr in on_windows and peer & NOPRECEDE):
                continue
            flow = all_collectives[nr][1] if nr in all_collectives else Flow.ALL
            if flow is Flow.LATER:
                continue
            if flow is Flow.TO_ROOT:
                inter = known is not None and known.inter
                if inter or not 0 <= peer < len(members) or members[peer] != rank:
                    continue
                kinds[(Flow.ALL, -1)].append((complete, number))
            else:
                root = peer if flow is Flow.FROM_ROOT else -1
                kinds[(flow, root)].append((complete, number))
        found += [_Kind(name, flow, root, _Calls(pairs)) for (flow, root), pairs in kinds.items()]
    return found
