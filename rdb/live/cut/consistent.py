"""A consistent cut of a job: one event per rank, such that nothing is received before it was sent.

Chandy and Lamport, "Distributed Snapshots" (1985). A message that was received at the cut, or that
a probe had found, had been sent at the cut. A message that had been sent but not received is under
way, and its sender sends it again. A collective is complete in all its ranks or in none, as parts
of it cannot be sent again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.live import sockets
from rdb.live.cut import worlds
from rdb.live.cut.windows import Exposure
from rdb.live.files import mpi_files
from rdb.live.files.file_order import FilePlan, file_plan
from rdb.live.verbs.cut import VerbsTraffic
from rdb.recording import Job, RankRecording
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import NEVER, EndKind, Kind
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.partitioned import Partitioned
from rdb.recording.mpi.collectives import Flow, collectives
from rdb.recording.mpi.communication import WORLD, RankCommunication

_WITH_ALL = ("MPI_Init", "MPI_Init_thread")
_FREES = ("MPI_Comm_free", "MPI_Comm_disconnect")


@dataclass(frozen=True, slots=True)
class Message:
    source: int
    sent: int
    """Event of the sending rank."""
    which: int
    """Number among the messages of that event, from 0."""
    destination: int
    received: int | None
    """Event of the receiving rank; None: not received in the recording."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Cut:
    """An event of each rank, and the messages under way between these events."""

    events: dict[int, int]
    under_way: list[Message]

    def among(self, ranks: Collection[int]) -> Cut:
        """The cut restricted to RANKS."""
        under_way = [one for one in self.under_way if one.source in ranks]
        return Cut({rank: self.events[rank] for rank in ranks}, under_way)

    def sent_again(self, rank: int) -> list[tuple[int, int]]:
        """The rank's sends that are under way, in order: event and number among its messages."""
        return sorted((one.sent, one.which) for one in self.under_way if one.source == rank)


class Traffic:
    """All dependences between the events of a job's ranks."""

    def __init__(self, job: Job) -> None:
        self.ranks = job.ranks
        self._job = job
        # The logs of a running job grow while they are read; only events up to here count.
        self._newest = {rank: job.rank(rank).last_event for rank in self.ranks}
        self._messages = Messages(job)
        self.files = mpi_files.Files(job, self._messages)
        self._files = {rank: mpi_files.open_spans(job, rank) for rank in self.ranks}
        self.messages = list(self._matched())
        self.collectives = [*self._together(), *self.files.together()]
        # Rank -> (event, other rank, event of that rank that must be in the cut, too). Sorted by
        # event.
        self._needs: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for rank, unsent in self._unsent():
            self._needs[rank].append(unsent)
        for one in self.messages:
            if one.received is not None:
                self._needs[one.destination].append((one.received, one.source, one.sent))
        communications = {rank: self._messages.communication(rank) for rank in self.ranks}
        for rank in self.ranks:
            self._needs[rank] += self._messages.found(rank)
        windows = Exposure(job, communications, self._meetings())
        self.collectives += windows.together()
        partitioned = Partitioned(job, communications, NEVER)
        self.collectives += partitioned.together()
        for rank, need in windows.needs():
            self._needs[rank].append(need)
        for events in self.collectives:
            # Each event needs all others. Going through the first one needs only two entries per
            # rank.
            first, *others = events.items()
            for rank, event in others:
                self._needs[rank].append((event, *first))
                self._needs[first[0]].append((first[1], rank, event))
        self.verbs = VerbsTraffic(job)
        for rank, event, other, until in (
            *self.verbs.needs(),
            *sockets.needs(job),
            *partitioned.needs(),
        ):
            if rank != other or until > event:
                self._needs[rank].append((event, other, until))
        for rank, needs in self._needs.items():
            self._needs[rank] = sorted(
                (event, other, until if until <= self._newest[other] else NEVER)
                for event, other, until in needs
            )
        self._inside = {
            rank: _united(sorted([*inside_calls(job, rank), *self._files[rank]]))
            for rank in self.ranks
        }

    def file_plan(self, cut: Cut) -> FilePlan:
        return file_plan(self.files, cut.events, self._messages)

    def settled(self, rank: int, event: int) -> int:
        """EVENT, or the nearest event of RANK that a consistent cut can have.

        That is a later one if others had finished what RANK is in, an earlier one if others never
        came to it.
        """
        event = self._outside(rank, event)
        least = self.closed({**dict.fromkeys(self.ranks, 0), rank: event})
        if any(until == NEVER for until in least.values()):
            return self._latest()[rank]
        return least[rank]

    def cut(self, rank: int, event: int) -> Cut:
        """The latest consistent cut with RANK at EVENT, in which no other rank is later in time.

        Another rank is later if RANK already depended on that. RdbError: EVENT is in no cut; the
        hint names one that is.
        """
        outside = self._outside(rank, event)
        if outside != event:
            where = (
                "has an MPI file open"
                if mpi_files.span_at(self._files[rank], event)
                else "is inside a function that MPI calls"
            )
            raise RdbError(f"rank {rank} {where} at event {event}", f"try --at {outside}")
        least = self.closed({**dict.fromkeys(self.ranks, 0), rank: event})
        if any(until == NEVER for until in least.values()):
            latest = self._latest()
            raise RdbError(
                f"rank {rank} cannot be restarted at event {event}: the recordings of other ranks "
                "end before this point",
                f"try --at {latest[rank]}",
            )
        if least[rank] > event:
            raise RdbError(
                f"rank {rank} is, at event {event}, in a collective, a window's epoch or an RDMA "
                "write that another rank has already finished",
                f"try --at {least[rank]}",
            )
        at_ns = self._job.rank(rank).event(event).at_ns
        events = {
            one: event
            if one == rank
            else max(least[one], self._outside(one, self._by_time(one, at_ns)))
            for one in self.ranks
        }
        self._go_back(events)
        return self.checked(events)

    def _latest(self) -> dict[int, int]:
        """The newest consistent cut: where a job that died can go on."""
        events = {rank: self._outside(rank, event) for rank, event in self._newest.items()}
        self._go_back(events)
        return events

    def closed(self, events: Mapping[int, int]) -> dict[int, int]:
        """The earliest consistent cut with no rank before its event in EVENTS."""
        events, done = dict(events), dict.fromkeys(self.ranks, 0)
        moved = True
        while moved:
            moved = False
            for rank in self.ranks:
                needs = self._needs[rank]
                while done[rank] < len(needs) and needs[done[rank]][0] <= events[rank]:
                    _, other, until = needs[done[rank]]
                    done[rank] += 1
                    if events[other] < until:
                        events[other] = until
                        moved = True
        return events

    def checked(self, events: dict[int, int]) -> Cut:
        """The cut at EVENTS, after a check of all messages, collectives and dependences."""
        under_way = []
        for one in self.messages:
            sent = one.sent <= events[one.source]
            received = one.received is not None and one.received <= events[one.destination]
            if received and not sent:
                raise RdbError(
                    f"the cut is not consistent: rank {one.destination} has received at event "
                    f"{one.received} what rank {one.source} sends at event {one.sent}"
                )
            if sent and not received:
                under_way.append(one)
        for together in self.collectives:
            over = {event <= events[rank] for rank, event in together.items()}
            if len(over) == 2:
                raise RdbError("the cut is not consistent: it goes through a collective")
        for rank, needs in self._needs.items():
            for event, other, until in needs:
                if event <= events[rank] and until > events[other]:
                    raise RdbError(
                        f"the cut is not consistent: rank {rank} is at event {events[rank]}, "
                        f"which needs event {until} of rank {other}"
                    )
        return Cut(events, under_way)

    def _go_back(self, events: dict[int, int]) -> None:
        """Moves EVENTS back to the latest consistent cut that is not after them."""
        moved = True
        while moved:
            moved = False
            for rank in self.ranks:
                for event, other, until in self._needs[rank]:
                    if event > events[rank]:
                        break
                    if until > events[other]:
                        events[rank] = self._outside(rank, event - 1)
                        moved = True
                        break

    def _outside(self, rank: int, event: int) -> int:
        """EVENT, or the last event before the MPI call that encloses EVENT."""
        spans = self._inside[rank]
        at = bisect_right(spans, (event, NEVER)) - 1
        return spans[at][0] - 1 if at >= 0 and event <= spans[at][1] else event

    def _by_time(self, rank: int, at_ns: int) -> int:
        found = 0
        for record in self._job.rank(rank).records():
            if record.kind.is_event:
                if record.at_ns > at_ns:
                    break
                found = record.event
        return min(found, self._newest[rank])

    def _matched(self) -> Iterator[Message]:
        """Each message with its receive: the n-th send of a channel matches its n-th receive."""
        known = {rank: self._messages.of(rank) for rank in self.ranks}
        for rank in self.ranks:
            said = self._messages.communication(rank)
            for (peer, comm, tag), sends in known[rank].sends.items():
                if peer not in known:
                    raise RdbError(
                        f"rank {rank} has sent a message to a process outside of the job"
                    )
                received = known[peer].receives.get((rank, comm, tag), [])
                for number, send in enumerate(sends):
                    got = received[number] if number < len(received) else None
                    if got is not None and not got.is_of(send):
                        raise RdbError(
                            f"the size that rank {peer} received at event {got.event} differs from "
                            f"what rank {rank} sent at event {send.event}: a receive is missing"
                        )
                    which = said.ordinal(said.sends[(peer, comm, tag)][number])
                    until = got.event if got else None
                    yield Message(rank, send.event, which, peer, until, send.size_bytes)

    def _unsent(self) -> Iterator[tuple[int, tuple[int, int, int]]]:
        """Receives that need a send which the sender's log lacks.

        The end of that log is not written yet or was lost, or the sender was killed in the sending
        call.
        """
        known = {rank: self._messages.of(rank) for rank in self.ranks}
        for rank in self.ranks:
            for (source, comm, tag), received in known[rank].receives.items():
                if source not in known:
                    continue
                sends = known[source].sends.get((rank, comm, tag), [])
                early = received[len(sends) :]
                end = self._job.rank(source).end
                if early and end is not None and end.kind is EndKind.EXIT:
                    raise RdbError(
                        f"rank {rank} has received more messages from rank {source} than it sent"
                    )
                yield from ((rank, (one.event, source, NEVER)) for one in early)

    def _together(self) -> Iterator[dict[int, int]]:
        """Rank -> event of each collective; NEVER for a rank that has not reached it."""
        known = {rank: self._messages.communication(rank) for rank in self.ranks}
        names = {name for one in known.values() for name in one.collectives}
        for name in sorted(names):
            members = self._members(known, name)
            calls = {rank: known[rank].collectives.get(name) or () for rank in members}
            begun = {number for one in known.values() for of, number in one.completed if of == name}
            for number in sorted(begun | set(range(max(map(len, calls.values()), default=0)))):
                if number >= 0:  # negative numbers: collectives that had begun before this branch
                    events = {
                        rank: known[rank].event(places[number]) if number < len(places) else NEVER
                        for rank, places in calls.items()
                    }
                    yield events
                    kinds = {
                        known[rank].item(places[number]).nr
                        for rank, places in calls.items()
                        if number < len(places)
                    }
                    if any(map(mpi_files.opens, kinds)):
                        yield {rank: self._closed(rank, event) for rank, event in events.items()}
                # An incomplete collective begins again, in all its ranks.
                done = {rank: known[rank].completed.get((name, number)) for rank in members}
                if any(event is not None for event in done.values()):
                    yield {rank: NEVER if event is None else event for rank, event in done.items()}
        yield from worlds.meetings(known, NEVER)
        for world in worlds.worlds(self._job).values():
            starts = {rank: self._start(rank) for rank in world}
            yield {rank: event if event is not None else NEVER for rank, event in starts.items()}

    def _closed(self, rank: int, event: int) -> int:
        """The event at which RANK has closed the MPI file that it had open at EVENT."""
        span = mpi_files.span_at(self._files[rank], event)
        return event if span is None else span[1] + 1

    def _meetings(self) -> Iterator[dict[int, int]]:
        """The collectives that no rank leaves before all have entered."""
        for events in self.collectives:
            rank, event = next(iter(events.items()))
            if event == NEVER:
                continue
            number = self._job.rank(rank).event(event).nr
            if number in collectives() and collectives()[number][1] is Flow.ALL:
                yield events

    def _members(self, known: Mapping[int, RankCommunication], name: str) -> list[int]:
        if name == WORLD.name:
            return worlds.worlds(self._job)[0]
        return [rank for rank in self.ranks if name in known[rank].communicators]

    def started(self) -> dict[int, int | None]:
        """Rank -> event of its MPI_Init; None: it has none."""
        return {rank: self._start(rank) for rank in self.ranks}

    def unknown(self, rank: int, cut: Cut) -> list[str]:
        """Why RANK cannot be restarted at the cut: its communicators with unknown processes."""
        return worlds.unknown(self._messages.communication(rank), rank, cut.events[rank])

    def _start(self, rank: int) -> int | None:
        """The event of MPI_Init."""
        recording = self._job.rank(rank)
        numbers = frozenset(int(one["nr"]) for one in mpi_functions() if one["name"] in _WITH_ALL)
        places = recording.index.of_hypercalls(numbers)
        return recording.index.record(places[0]).event if places else None


_CALLS_NOTHING = frozenset(
    f"MPI_{name}"
    for name in (
        "Status_set_elements",
        "Status_set_elements_x",
        "Status_set_cancelled",
        "Test_cancelled",
        "Get_count",
        "Get_elements",
        "Get_elements_x",
        "Type_size",
        "Type_size_x",
        "Type_get_extent",
        "Type_get_extent_x",
        "Type_get_true_extent",
        "Type_get_true_extent_x",
        "Type_get_envelope",
        "Type_get_contents",
        "Comm_rank",
        "Comm_size",
        "Wtime",
        "Wtick",
    )
)
"""Functions that make no upcall, and that an upcall may call."""


def inside_calls(job: Job, rank: int) -> list[tuple[int, int]]:
    """First and last events of the functions that MPI called (upcalls), as spans.

    The enclosing MPI call ends at its own event, the first MPI event that is none of the
    function's.
    """
    index = job.rank(rank).index
    if not index.of_kind(Kind.UPCALL):
        return []
    asking = {int(one["nr"]) for one in mpi_functions() if one["name"] in _CALLS_NOTHING}
    begun: dict[int, int] = {}
    spans = []
    for place in index.of_kind(Kind.UPCALL, Kind.HYPERCALL):
        kind, event, _ = index.brief(place)
        thread = index.thread(place)
        if kind is Kind.UPCALL:
            begun.setdefault(thread, event)
        elif thread in begun and index.number(place) >> 16 and index.number(place) not in asking:
            spans.append((begun.pop(thread), event - 1))
    return _united(sorted(spans))


def _united(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins spans that overlap or touch; spans of several threads can."""
    united: list[tuple[int, int]] = []
    for first, last in spans:
        if united and first <= united[-1][1] + 1:
            united[-1] = (united[-1][0], max(last, united[-1][1]))
        else:
            united.append((first, last))
    return united


def uses_mpi(job: Job) -> bool:
    """Whether a rank uses MPI, or used it when the branch began."""
    return any(_uses_mpi(recording) for recording in job.all_ranks())


def _uses_mpi(recording: RankRecording) -> bool:
    return (recording.path / "mpi-objects").exists() or 1 in recording.index.libraries(NEVER)
