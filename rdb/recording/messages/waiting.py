"""Which rank waits for which: the wait-for graph of a job, and its deadlocks.

Each rank is at an event and has asked for a call.  Most calls wait for other ranks: a receive for
its sender, a collective for the members that have not called it.  A rank is deadlocked if no rank
that it waits for can ever go on.  A rank that computes can go on; one that has ended cannot; one
that waits for all of several ranks can if all of them can, one that waits for any of them if one
can.

What the logs leave open is not guessed.  If receives may have taken one message or another
(matching.py), each possibility is examined.  A doubtful need is examined as real and as not real.
A rank that is stuck in every case is deadlocked; one that is stuck in some cases is perhaps
deadlocked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from rdb.recording.log.describe import ANY, PROC_NULL, mpi_name
from rdb.recording.messages.matching import RECEIVES, SENDS, Matching, Way, World
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.partitioned import Partitioned
from rdb.recording.mpi.collectives import (
    NOPRECEDE,
    Flow,
    collectives,
    file_collectives,
    meetings,
    nonblocking,
)
from rdb.recording.mpi.communication import WORLD, Communicator, Item, What
from rdb.recording.mpi.epochs import Epochs, missing, unposted
from rdb.recording.mpi.locks import ALL, EXCLUSIVE

_PROBES = frozenset(("MPI_Probe", "MPI_Mprobe"))
_WAITS_ALL = frozenset(("MPI_Wait", "MPI_Waitall"))
_WAITS_ANY = frozenset(("MPI_Waitany", "MPI_Waitsome"))
POLLS = frozenset(
    (
        "MPI_Test",
        "MPI_Testall",
        "MPI_Testany",
        "MPI_Testsome",
        "MPI_Iprobe",
        "MPI_Improbe",
        "MPI_Request_get_status",
        "MPI_Win_test",
        "MPI_Parrived",
    )
)
ASLEEP = "a thread"
"""Stands for a call: each thread of the rank waits for another thread of the rank."""
_ASLEEP = "all its threads wait for each other: only a signal or another process may wake them"
_TWO_ALIKE = "two of its threads send or receive at once: which did so first is not known"
_OTHER_THREADS = "it has other threads, and it is not known what they do next"
_LOCKING = frozenset(
    (
        "MPI_Win_lock",
        "MPI_Win_lock_all",
        "MPI_Win_unlock",
        "MPI_Win_unlock_all",
        "MPI_Win_flush",
        "MPI_Win_flush_all",
        "MPI_Win_flush_local",
        "MPI_Win_flush_local_all",
    )
)
_INITS = frozenset(("MPI_Init", "MPI_Init_thread"))
_FREES = frozenset(("MPI_Win_free", "MPI_Comm_free", "MPI_Comm_disconnect", "MPI_File_close"))
_WAITS_TO_FREE = frozenset(("MPI_Win_free", "MPI_Comm_disconnect"))
_OUTSIDE = frozenset(
    (
        "MPI_Comm_accept",
        "MPI_Comm_connect",
        "MPI_Comm_join",
        "MPI_Comm_spawn",
        "MPI_Comm_spawn_multiple",
        "MPI_Lookup_name",
    )
)
_BUFFERED = frozenset(("MPI_Bsend", "MPI_Ibsend", "MPI_Bsend_init"))
_MAY_BE_BUFFERED = "MPI may have buffered a message that nobody has received"
_SYNCHRONOUS = frozenset(("MPI_Ssend", "MPI_Issend", "MPI_Ssend_init"))
_IMPLEMENTED = "in this MPI a collective may also wait for ranks whose data it does not need"


@dataclass(frozen=True)
class Call:
    """The MPI call in which a rank is at its position, which has no answer yet."""

    name: str
    text: str
    """The call with its arguments."""
    arguments: Mapping[str, int]
    requests: tuple[int, ...] = ()
    """Of a call that waits for requests: their ids, without MPI_REQUEST_NULL."""
    thread: int = 1


@dataclass(frozen=True)
class Need:
    """One thing that a rank waits for."""

    what: str
    ranks: tuple[int, ...]
    """The ranks that are needed: any one of them if `any_of`, else all."""
    any_of: bool = False
    notes: tuple[str, ...] = ()
    doubt: str = ""
    """Why it is not known whether the need is real, or which of its ranks are needed; "": it is
    known.  If a rank waits for all of its needs, at least one of the doubtful ones is real."""
    perhaps_none: bool = False
    """The need is doubtful, and the rank may wait for nothing at all."""
    of: int = 0
    """Of a call that waits for any of several requests: index of the request."""


@dataclass(frozen=True)
class Waiter:
    """A rank that is blocked in MPI."""

    rank: int
    event: int
    call: Call
    needs: tuple[Need, ...]
    any_of: bool
    """One of the needs is enough (MPI_Waitany)."""
    deadlocked: bool = False
    perhaps: bool = False
    """The rank is deadlocked in some of the cases that the logs leave open."""

    @property
    def waits_for(self) -> tuple[int, ...]:
        return tuple(sorted({rank for need in self.needs for rank in need.ranks}))


@dataclass(frozen=True)
class WaitFor:
    """The wait-for graph."""

    waiters: tuple[Waiter, ...]
    free: tuple[int, ...]
    """Ranks that are not blocked in MPI."""
    ended: Mapping[int, str]
    deadlocked: tuple[int, ...]
    cycle: tuple[int, ...] = ()
    """Ranks each of which waits for the next, the last one for the first; empty: no cycle."""
    notes: tuple[str, ...] = field(default=())
    certain: bool = False
    """There is a deadlock in every case, perhaps of different ranks."""
    unknown: tuple[str, ...] = ()
    """Why it cannot be known whether other ranks are deadlocked; empty: it is known."""


def wait_for(
    messages: Messages,
    at: Mapping[int, int],
    calls: Mapping[int, Call],
    ended: Mapping[int, str],
    answered: Collection[int] = (),
    lost: Collection[int] = (),
    threaded: Collection[int] = (),
    beside: Mapping[int, Sequence[Call]] = MappingProxyType({}),
) -> WaitFor:
    """The wait-for graph of a job.

    AT: event of each rank.  CALLS: calls of the ranks that have not ended.  ENDED: rank -> how it
    ended.  ANSWERED: ranks of CALLS whose call was answered later in the recording.  LOST: ranks
    of which nothing is known.  THREADED: ranks whose other threads may go on.  BESIDE: calls of
    other threads.
    """
    stands = {rank: (call, *beside.get(rank, ())) for rank, call in calls.items()}
    matching = Matching(messages, at, stands)
    worlds, more = matching.worlds()
    job = _Job(messages, matching, stands, ended, lost, threaded)
    cases = [_Case(_Needs(job, world)) for world in worlds]
    every = [case.stuck(ended, answered, doubtful) for case in cases for doubtful in (0, 1)]
    surely = set() if more else set.intersection(*every)
    perhaps = set.union(*every) - surely
    graph = _worst(cases, every).waiters
    waits = [rank for rank in stands if rank not in answered and all(map(_blocks, stands[rank]))]
    free = [rank for rank in at if rank not in graph and rank not in ended]
    return WaitFor(
        tuple(
            Waiter(
                one.rank,
                one.event,
                one.call,
                one.needs,
                one.any_of,
                one.rank in surely,
                one.rank in perhaps,
            )
            for one in graph.values()
        ),
        tuple(free),
        dict(ended),
        tuple(sorted(surely)),
        _cycle(graph, surely),
        tuple(_Needs(job, worlds[0]).mismatches()),
        all(every) and not more,
        tuple(_reasons(cases, every, perhaps, surely, waits, at, ended, lost, more)),
    )


def _blocks(call: Call) -> bool:
    """Is it a call that can wait for other ranks?"""
    name = call.name
    if name in _WAITS_ALL | _WAITS_ANY:
        return bool(call.requests)
    comm = _comm_of(call.arguments)
    known = {one for one, _ in collectives().values()}
    return (
        name in _PROBES | _INITS | _FREES | _OUTSIDE | _LOCKING | {ASLEEP}
        or name in ("MPI_Recv", "MPI_Finalize", "MPI_Mrecv", *SENDS, *RECEIVES)
        or name in ("MPI_Win_fence", "MPI_Win_wait", "MPI_Win_complete", "MPI_Win_start")
        or name in meetings().values()
        or name in file_collectives().values()
        or (comm is not None and name in known and not nonblocking(name))
    )


@dataclass(frozen=True)
class _Job:
    """What all worlds have in common."""

    messages: Messages
    matching: Matching
    calls: Mapping[int, Sequence[Call]]
    """At least one call for each rank."""
    ended: Mapping[int, str]
    lost: Collection[int]
    threaded: Collection[int]

    @cached_property
    def partitioned(self) -> Partitioned:
        return self.messages.partitioned()


def _any_of(call: Call) -> bool:
    return call.name in _WAITS_ANY | POLLS - {"MPI_Testall"}


def _either(calls: Sequence[Call], asked: Sequence[Sequence[Need]]) -> Iterable[Need]:
    """The needs of several threads, numbered (`of`) so that one thread's are enough."""
    first = 0
    for call, needs in zip(calls, asked, strict=True):
        thread = f" (thread {call.thread}: {call.name})" if len(calls) > 1 else ""
        for need in needs:
            of = first + (need.of if _any_of(call) else 0)
            yield replace(need, what=need.what + thread, of=of)
        first += 1 + max(need.of for need in needs)


class _Case:
    """The ranks that wait in one world."""

    def __init__(self, needs: _Needs) -> None:
        self.waiters: dict[int, Waiter] = {}
        self._known = needs.at
        for rank, calls in needs.calls.items():
            asked = [needs.of(rank, call) for call in calls]
            if not all(asked):
                continue  # one of its threads goes on
            why = _OTHER_THREADS if rank in needs.threaded else needs.doubt(calls)
            found = list(_either(calls, asked))
            if why:
                found = [replace(need, doubt=why, perhaps_none=True) for need in found]
            any_of = len(calls) > 1 or _any_of(calls[0])
            self.waiters[rank] = Waiter(rank, needs.at[rank], calls[0], tuple(found), any_of)

    def stuck(self, ended: Mapping[int, str], answered: Collection[int], doubtful: int) -> set[int]:
        """Ranks that can never go on, if doubtful needs are real (DOUBTFUL 1) or not (0)."""
        stuck = set(self.waiters).difference(answered)

        def can_come(need: Need) -> bool:
            free = [
                rank not in stuck and rank not in ended and (not doubtful or rank in self._known)
                for rank in need.ranks
            ]
            if need.doubt and not doubtful:
                return need.perhaps_none or any(free)
            return any(free) if need.any_of else all(free) and bool(free)

        def all_come(needs: Sequence[Need]) -> bool:
            if doubtful:
                return all(map(can_come, needs))
            sure = [need for need in needs if not need.doubt]
            return all(map(can_come, sure)) if sure else any(map(can_come, needs))

        def can_go_on(one: Waiter) -> bool:
            if not one.any_of:
                return all_come(one.needs)
            requests = {need.of for need in one.needs}
            return any(
                all_come([need for need in one.needs if need.of == request]) for request in requests
            )

        while released := {rank for rank in stuck if can_go_on(self.waiters[rank])}:
            stuck -= released
        return stuck


def _worst(cases: list[_Case], every: list[set[int]]) -> _Case:
    """The case in which most ranks are stuck."""
    best = max(range(len(every)), key=lambda number: len(every[number]))
    return cases[best // 2]


def _reasons(
    cases: list[_Case],
    every: list[set[int]],
    perhaps: set[int],
    surely: set[int],
    waits: list[int],
    at: Mapping[int, int],
    ended: Mapping[int, str],
    lost: Collection[int],
    more: bool,
) -> Iterable[str]:
    """Why it is not known which ranks are deadlocked."""
    if more:
        yield "receives from MPI_ANY_SOURCE may have matched in more ways than rdb can try"
    if perhaps:
        graph = _worst(cases, every).waiters
        doubts = [(rank, need.doubt) for rank in graph for need in graph[rank].needs if need.doubt]
        for doubt in dict.fromkeys(doubt for _, doubt in doubts):
            ranks = sorted({rank for rank, one in doubts if one == doubt})
            yield f"{'rank' if len(ranks) == 1 else 'ranks'} {','.join(map(str, ranks))}: {doubt}"
        if len({frozenset(one) for one in every[1::2]}) > 1:
            yield "it is not known which message a receive from MPI_ANY_SOURCE took"
    if lost and not surely:
        yield f"there is no recording of rank {','.join(map(str, sorted(lost)))}"
    all_wait = waits and set(at) == {*waits, *ended} and not lost
    if all_wait and not surely and not perhaps and not more:
        yield (
            "each rank is in a call that waits, but by the logs some of these calls can return: "
            "the recordings may end right before that"
        )


def _cycle(waiters: Mapping[int, Waiter], stuck: set[int]) -> tuple[int, ...]:
    """The shortest cycle of stuck ranks; of equally short ones that with the lowest rank."""
    best: tuple[int, ...] = ()
    for start in sorted(stuck):
        came: dict[int, int] = {}
        row = [start]
        while row and start not in came:
            following = []
            for rank in row:
                for other in waiters[rank].waits_for:
                    if other in stuck and other not in came:
                        came[other] = rank
                        following.append(other)
            row = following
        if start in came:
            path = [came[start]]
            while path[-1] != start:
                path.append(came[path[-1]])
            if not best or len(path) < len(best):
                best = tuple(reversed(path))
    return best


def _alike(one: str, other: str) -> bool:
    """Are these the same procedure, apart from large counts?"""
    return one.removesuffix("_c") == other.removesuffix("_c")


def _comm_of(arguments: Mapping[str, int]) -> int | None:
    """The call's communicator; for a call that makes a topology, the old communicator."""
    return arguments.get("comm", arguments.get("comm_old"))


class _Needs:
    """What calls wait for, in one world."""

    def __init__(self, job: _Job, world: World) -> None:
        self._job = job
        self._messages = job.messages
        self._matching = job.matching
        self._world_of = world
        self.at = job.matching.at
        self.calls = job.calls
        self._ended = job.ended
        self._lost = job.lost
        self.threaded = job.threaded
        self._numbers = {name: nr for nr, (name, _) in collectives().items()}

    def of(self, rank: int, call: Call) -> list[Need]:
        """What a call waits for; empty: it can go on, or does not wait for other ranks."""
        name, arguments = call.name, call.arguments
        comm = self._comm(rank, _comm_of(arguments))
        found: list[Need | None] = []
        if name in _WAITS_ALL | _WAITS_ANY | POLLS:
            return self._completion(rank, call, comm)
        if name in RECEIVES and comm:
            found.append(
                self._receive(rank, arguments["source"], arguments[RECEIVES[name]], comm, 0)
            )
        if name in SENDS and comm and arguments["dest"] != PROC_NULL:
            dest = self._world(comm, arguments["dest"])
            sent = self._send(rank, dest, arguments[SENDS[name]], comm, -1)
            if sent and any(found):  # its receive waits, so perhaps its send does not
                sent = replace(sent, doubt=_MAY_BE_BUFFERED)
            found.append(sent)
        if name in _PROBES and comm:
            found.append(self._probe(rank, arguments["source"], arguments["tag"], comm))
        elif name == "MPI_Finalize":
            found.append(self._finalize(rank))
        elif name == ASLEEP:
            found.append(Need("its other threads", (), doubt=_ASLEEP, perhaps_none=True))
        elif name in file_collectives().values():
            file = self._messages.communication(rank).file(arguments["fh"], self.at[rank])
            if file is not None:
                need = self._collective(rank, name, file, self._done(rank, file.name))
                found.append(need and replace(need, doubt=_IMPLEMENTED))
        elif name in _INITS:
            found.append(self._init(rank, name))
        elif name in _FREES:
            found.append(self._free(rank, call))
        elif name == "MPI_Intercomm_create":
            found += self._intercomm(rank, arguments)
        elif name == "MPI_Comm_create_group":
            found.append(self._create_group(rank, arguments))
        elif name in meetings().values() or name in _OUTSIDE:
            found.append(self._outside(rank, call))
        elif name in self._numbers and comm and not nonblocking(name):
            root = arguments.get("root", 0)
            found += self._needed(rank, name, comm, self._done(rank, comm.name), root)
        elif "win" in arguments:
            found.append(self._on_window(rank, call))
        return [need for need in found if need is not None]

    def _completion(self, rank: int, call: Call, comm: Communicator | None) -> list[Need]:
        """The needs of a call that waits for or polls requests, or polls for a message."""
        any_of = _any_of(call)
        asked = [self._request(rank, of) for of in call.requests]
        found = [needs for needs in asked if needs is not None]
        if call.name in ("MPI_Iprobe", "MPI_Improbe") and comm:
            arguments = call.arguments
            probed = self._probe(rank, arguments["source"], arguments["tag"], comm)
            found.append([] if probed is None else [probed])
        elif call.name == "MPI_Win_test":
            need = self._on_window(rank, replace(call, name="MPI_Win_wait"))
            found.append([] if need is None else [need])
        elif not call.requests:
            found.append([Need(f"the operation that {call.name} tests", ())])
        if any_of and [] in found:
            return []
        if any_of or sum(map(len, found)) == 1:  # the call waits, so the send is not complete
            found = [
                [replace(needs[0], doubt="")]
                if [need.doubt for need in needs] == [_MAY_BE_BUFFERED]
                else needs
                for needs in found
            ]
        needs = [replace(need, of=of) for of, one in enumerate(found) for need in one]
        if call.name in POLLS:
            why = f"it polls with {call.name}, and may do other work between two calls"
            return [replace(need, doubt=why, perhaps_none=True) for need in needs]
        return needs

    def mismatches(self) -> Iterable[str]:
        """Messages about ranks that call different collectives as the n-th of a communicator."""
        groups: dict[tuple[str, int], dict[str, list[int]]] = {}
        for rank, call in self._each():
            comm = self._comm(rank, _comm_of(call.arguments))
            if comm and call.name in self._numbers:
                number = self._done(rank, comm.name)
                groups.setdefault((comm.name, number), {}).setdefault(call.name, []).append(rank)
        for (comm_name, number), names in groups.items():
            if len(names) > 1:
                said = ", ".join(
                    f"{name} in rank {','.join(map(str, ranks))}" for name, ranks in names.items()
                )
                yield f"ranks differ in collective {number + 1} of {comm_name}: {said}"

    def _each(self) -> Iterable[tuple[int, Call]]:
        return ((rank, call) for rank, calls in self.calls.items() for call in calls)

    def _called(self, rank: int, name: str) -> Call | None:
        """The unanswered call of that procedure by RANK."""
        return next((call for call in self.calls.get(rank, ()) if call.name == name), None)

    def doubt(self, calls: Sequence[Call]) -> str:
        """Why the order of the calls of several threads is not known; "": it is."""
        for kind in (SENDS, RECEIVES):
            comms = [call.arguments["comm"] for call in calls if call.name in kind]
            if len(set(comms)) < len(comms):
                return _TWO_ALIKE
        return ""

    def _comm(self, rank: int, number: int | None) -> Communicator | None:
        if number is None:
            return None
        return self._messages.communication(rank).communicator(number, self.at[rank])

    def _members(self, comm: Communicator) -> tuple[int, ...]:
        """Members of a communicator; of an intercommunicator the remote group."""
        if comm.members is not None:
            return comm.members
        return (*self._here(comm), *(self._lost if comm.name == WORLD.name else ()))

    def _all(self, comm: Communicator) -> tuple[int, ...]:
        """The ranks that take part in a collective on a communicator."""
        if not comm.inter:
            return self._members(comm)
        return tuple(sorted({*self._here(comm), *self._members(comm)}))

    def _here(self, comm: Communicator) -> list[int]:
        """Ranks that have the communicator, or a file of that name."""
        known = {rank: self._messages.communication(rank) for rank in self.at}
        return [
            rank
            for rank, one in known.items()
            if comm.name in one.communicators or comm.name in one.files
        ]

    def _world(self, comm: Communicator, rank: int) -> int:
        members = self._members(comm)
        return members[rank] if 0 <= rank < len(members) else rank

    def _done(self, rank: int, comm: str) -> int:
        """How many collectives RANK has completed on a communicator, window or file."""
        communication = self._messages.communication(rank)
        calls = communication.collectives.get(comm) or communication.on_files.get(comm) or ()
        return sum(communication.event(place) <= self.at[rank] for place in calls)

    def _needed(
        self, rank: int, name: str, comm: Communicator, number: int, root: int
    ) -> list[Need | None]:
        """The needs of a collective: ranks whose data it needs, and ranks for which the MPI may
        wait in addition.  If all of the former have called it, it waits for one of the latter."""
        missing = self._missing(rank, name, comm, number)
        needed, what = self._bring(rank, name, comm, root), f"{name} on {comm.name}"
        if needed is None:
            why = "the log does not say which ranks are its neighbours"
            need = self._lacking(what, missing)
            return [need and replace(need, doubt=why)]
        others = self._lacking(what, [one for one in missing if one not in needed])
        return [
            self._lacking(what, [one for one in missing if one in needed]),
            others and replace(others, doubt=_IMPLEMENTED),
        ]

    def _bring(self, rank: int, name: str, comm: Communicator, root: int) -> Collection[int] | None:
        """Ranks whose data RANK needs in a collective (MPI-4.0, 6.2.3); None: not known."""
        flow, members = collectives()[self._numbers[name]][1], self._members(comm)
        if flow is Flow.LATER:
            neighbors = self._messages.communication(rank).neighbors.get(comm.name)
            return members if "idup" in name else neighbors
        if flow is Flow.ALL:
            return members  # of an intercommunicator: the other group
        if flow is Flow.UPWARDS:
            return members[: members.index(rank)] if rank in members else ()
        roots = members[root : root + 1] if root >= 0 else ()
        if flow is Flow.FROM_ROOT:
            return () if rank in roots else roots
        return members if rank in roots or root < PROC_NULL else ()  # below it: MPI_ROOT

    def _missing(self, rank: int, name: str, comm: Communicator, number: int) -> list[int]:
        """Ranks that have not called a collective."""
        missing = []
        for one in self._all(comm):
            if one == rank:
                continue
            if one in self.at:
                done = self._done(one, comm.name)
                if done > number:
                    continue
                theirs = [
                    self._where(one, call)
                    for call in self.calls.get(one, ())
                    if _alike(call.name, name)
                ]
                if done == number and any(own and own.name == comm.name for own in theirs):
                    continue
            missing.append(one)
        return missing

    def _collective(self, rank: int, name: str, comm: Communicator, number: int) -> Need | None:
        """The need of a collective in which each rank needs all others."""
        missing = self._missing(rank, name, comm, number)
        return self._lacking(f"{name} on {comm.name}", missing)

    def _where(self, rank: int, call: Call) -> Communicator | None:
        """The communicator of a call, or the ranks of its window or file."""
        for given in ("local_comm", "comm", "intercomm"):
            if call.name in meetings().values() and given in call.arguments:
                return self._comm(rank, call.arguments[given])
        comm = _comm_of(call.arguments)  # calls that make a file or a window have one
        if comm is None and "fh" in call.arguments:
            return self._messages.communication(rank).file(call.arguments["fh"], self.at[rank])
        if comm is None and "win" in call.arguments:
            return self._messages.communication(rank).window(call.arguments["win"])
        return self._comm(rank, comm)

    def _on_window(self, rank: int, call: Call) -> Need | None:
        window = self._where(rank, call)
        if window is None:
            return None
        if call.name in _LOCKING:
            return self._lock(rank, call, window)
        if call.name == "MPI_Win_fence" and call.arguments.get("assert", 0) & NOPRECEDE:
            return None
        if call.name == "MPI_Win_fence":
            return self._collective(rank, call.name, window, self._done(rank, window.name))
        others: dict[int, Epochs] = {}
        for one in self.at:
            others[one] = self._messages.communication(one).epochs.get(window.name, Epochs())
        if call.name == "MPI_Win_wait":
            what, ranks = "MPI_Win_complete", missing(others[rank], others, self.at, rank)
        elif call.name == "MPI_Win_complete":
            what, ranks = "MPI_Win_post", unposted(others[rank], others, self.at, rank)
        elif call.name == "MPI_Win_start":
            group = self._group(rank, call.arguments["group"])
            if group is None:
                why = "the log does not say which ranks the group has"
                return Need("MPI_Win_post", (), doubt=why, perhaps_none=True)
            asked = replace(others[rank], starts=[*others[rank].starts, (self.at[rank] + 1, group)])
            where = {**self.at, rank: self.at[rank] + 1}
            what, ranks = "MPI_Win_post", unposted(asked, others, where, rank)
        else:
            return None
        return self._lacking(f"{what} on {window.name}", ranks)

    def _lock(self, rank: int, call: Call, window: Communicator) -> Need | None:
        """Ranks whose lock excludes the one of this call.  A lock may be acquired later than the
        call that asks for it (MPI-4.0, 12.5.3)."""
        asks = call.name in ("MPI_Win_lock", "MPI_Win_lock_all")
        target = self._target(call)
        own = self._messages.communication(rank).locks.get(window.name)
        if asks:
            exclusive = call.arguments.get("lock_type") == EXCLUSIVE
        else:
            held = own.held(self.at[rank]) if own else ()
            exclusive = any(one.exclusive for one in held if one.target == target)
        holders, perhaps = self._holders(rank, window, target, exclusive)
        asking = self._each() if not holders else ()  # locks may be given in the order of asking
        for other, there in asking:
            queued = there.name == "MPI_Win_lock" and self._on(other, there, window)
            queued = queued and other != rank
            first = queued and there.arguments.get("lock_type") == EXCLUSIVE
            if first and target in (ALL, self._target(there)):
                behind, more = self._holders(other, window, self._target(there), True)
                holders += [one for one in behind if one != rank]
                perhaps = perhaps or more
        if not holders:
            return None
        what = f"the lock of {'all targets' if target == ALL else f'target {target}'}"
        need = Need(f"{what} on {window.name}", tuple(sorted(set(holders))))
        if asks and len(need.ranks) == 1 and not perhaps:
            return need
        why = "the log does not say which of several ranks holds the lock"
        return replace(need, doubt=why, perhaps_none=perhaps or not asks)

    @staticmethod
    def _target(call: Call) -> int:
        return ALL if "_all" in call.name else call.arguments["rank"]

    def _on(self, rank: int, call: Call, window: Communicator) -> bool:
        """Is the unanswered call of RANK on that window?"""
        there = self._where(rank, call)
        return there is not None and there.name == window.name

    def _holders(
        self, rank: int, window: Communicator, target: int, exclusive: bool
    ) -> tuple[list[int], bool]:
        """Ranks that may hold a lock that excludes RANK's, and whether another rank may hold one
        that waits only for that lock, and can go on if it has it."""
        found, goes_on = [], False
        for one in self.at:
            locks = self._messages.communication(one).locks.get(window.name)
            held = [
                lock
                for lock in (locks.held(self.at[one]) if locks and one != rank else ())
                if (lock.exclusive or exclusive)
                and (lock.target == target or ALL in (lock.target, target))
            ]
            calls = self.calls.get(one, ()) if one != rank else ()
            call = next((call for call in calls if call.name in _LOCKING), None)
            if call and self._on(one, call, window):
                if exclusive and call.name == "MPI_Win_lock_all":  # it may have some targets
                    found.append(one)
                if held and {lock.target for lock in held} == {self._target(call)} - {ALL}:
                    goes_on = True
                    continue
            if held:
                found.append(one)
        return found, goes_on

    def _finalize(self, rank: int) -> Need | None:
        missing = [
            one
            for one in (*self.at, *self._lost)
            if one != rank and not self._ended.get(one) and not self._called(one, "MPI_Finalize")
        ]
        return Need("MPI_Finalize of all ranks", tuple(missing)) if missing else None

    def _init(self, rank: int, name: str) -> Need | None:
        others = [
            one
            for one in self._all(WORLD)
            if one != rank and not self._has_begun(one) and not self._called(one, name)
        ]
        if not others:
            return None
        why = f"the log does not say which ranks have called {name}"
        return Need(f"{name} of other ranks", tuple(others), doubt=why)

    def _met(self, rank: int, *key: object) -> int:
        """How often RANK has made such a call by its position; KEY: as in
        `RankCommunication.met`."""
        if rank not in self.at:
            return 0
        met = self._messages.communication(rank).met
        return bisect_right(met.get(key, []), self.at[rank])

    def _meeting(
        self, rank: int, name: str, where: Communicator, ranks: Iterable[int], *also: object
    ) -> Need | None:
        """Ranks that have not made the call in which RANK is; ALSO: what else the calls agree
        in."""
        number = self._met(rank, name, where.name, *also)
        missing = [
            one
            for one in ranks
            if one != rank
            and self._met(one, name, where.name, *also) <= number
            and not self._stands_in(one, name, where)
        ]
        return self._lacking(f"{name} on {where.name}", missing)

    def _stands_in(self, rank: int, name: str, where: Communicator) -> bool:
        theirs = [self._where(rank, call) for call in self.calls.get(rank, ()) if call.name == name]
        return any(there is not None and there.name == where.name for there in theirs)

    def _lacking(self, what: str, ranks: Sequence[int]) -> Need | None:
        if not ranks:
            return None
        notes = [
            f"rank {one} has ended ({self._ended[one]})" for one in ranks if one in self._ended
        ]
        return Need(what, tuple(ranks), notes=tuple(notes))

    def _free(self, rank: int, call: Call) -> Need | None:
        name, where = call.name, self._where(rank, call)
        if where is None:
            return None
        if name != "MPI_File_close":  # names are unique, so a rank frees each only once
            ranks = [one for one in self._all(where) if not self._met(one, name, where.name)]
            need = self._meeting(rank, name, where, ranks)
        else:
            need = self._collective(rank, name, where, self._done(rank, where.name))
            closed = [one for one in need.ranks if self._met(one, name, where.name)] if need else []
            need = need and self._lacking(need.what, sorted({*need.ranks} - {*closed}))
        return need and (need if name in _WAITS_TO_FREE else replace(need, doubt=_IMPLEMENTED))

    def _intercomm(self, rank: int, arguments: Mapping[str, int]) -> list[Need | None]:
        """The needs in the rank's own group, and in that of the remote leader."""
        name = "MPI_Intercomm_create"
        local = self._comm(rank, arguments["local_comm"])
        if local is None:
            return []
        found = [self._meeting(rank, name, local, self._members(local))]
        leader = self._world(local, arguments["local_leader"])
        call = self._called(leader, name)
        if call is None or not self._stands_in(leader, name, local):
            return found  # the leader is past this call, or has not come
        peers = self._comm(leader, call.arguments["peer_comm"])
        if peers is None:
            return found
        tag, there = call.arguments["tag"], call.arguments["remote_leader"]
        remote = self._world(peers, there)
        own = self._world_rank(peers, leader)
        number = self._met(leader, name, peers.name, there, tag)
        if self._met(remote, name, peers.name, own, tag) > number:
            return found
        theirs = self._called(remote, name)
        said = theirs.arguments if theirs else {}
        same = said.get("tag") == tag and said.get("remote_leader") == own
        if theirs is None or not same:
            found.append(self._lacking(f"{name} of the other group", (remote,)))
            return found
        group = self._comm(remote, said["local_comm"])
        if group is not None:
            found.append(self._meeting(remote, name, group, self._members(group)))
        return found

    def _world_rank(self, comm: Communicator, rank: int) -> int:
        """The rank in COMM of a rank of the job."""
        members = self._members(comm)
        return members.index(rank) if rank in members else rank

    def _create_group(self, rank: int, arguments: Mapping[str, int]) -> Need | None:
        name, comm = "MPI_Comm_create_group", self._comm(rank, arguments["comm"])
        ranks = self._group(rank, arguments["group"])
        if comm is None:
            return None
        if ranks is None:
            why = "the log does not say which ranks the group has"
            return Need(name, (), doubt=why, perhaps_none=True)
        return self._meeting(rank, name, comm, ranks, arguments["tag"], ranks)

    def _group(self, rank: int, number: int) -> tuple[int, ...] | None:
        return self._messages.communication(rank).group(number & 0xFFFFFFFF, self.at[rank])

    def _outside(self, rank: int, call: Call) -> Need | None:
        """The need of a call that also waits for processes without logs here.  It comes up when all
        ranks with a log have made the call."""
        comm = self._where(rank, call)
        if comm is not None:
            need = self._meeting(rank, call.name, comm, self._all(comm))
            if need is not None or call.name == "MPI_Intercomm_merge":
                return need
        why = f"processes outside of this job take part in {call.name}, and have no log here"
        return Need(f"{call.name} in another job", (), doubt=why, perhaps_none=True)

    def _has_begun(self, rank: int) -> bool:
        """Has the rank called MPI before its position?"""
        items = self._messages.communication(rank).items() if rank in self.at else iter(())
        first = next(items, None)
        return first is not None and first.event <= self.at[rank]

    def _receive(
        self, rank: int, source: int, tag: int, comm: Communicator, request: int
    ) -> Need | None:
        posted = self._matching.takers[(rank, comm.name)].by_request.get(request)
        if source == PROC_NULL or self._world_of.taken(rank, comm.name, request):
            return None
        if posted is not None and posted.cancelled:
            return None
        return self._message(rank, source, tag, comm)

    def _probe(self, rank: int, source: int, tag: int, comm: Communicator) -> Need | None:
        if source == PROC_NULL:
            return None
        wanted = source if source == ANY else self._world(comm, source)
        for peer, sent in self._world_of.waiting(rank, comm.name):
            if wanted in (ANY, peer) and tag in (ANY, sent):
                return None
        return self._message(rank, source, tag, comm)

    def _message(self, rank: int, source: int, tag: int, comm: Communicator) -> Need:
        anybody = source == ANY
        if anybody:
            ranks = list(self._members(comm))
            if any(one != rank for one in ranks):
                ranks = [one for one in ranks if one != rank]
        else:
            ranks = [self._world(comm, source)]
        notes = [note for one in ranks for note in self._notes(one, rank, tag, comm)]
        what = "a message from " + ("any rank" if anybody else f"rank {ranks[0]}")
        what += ", any tag" if tag == ANY else f", tag {tag}"
        if comm.name != WORLD.name:
            what += f", {comm.name}"
        return Need(what, tuple(ranks), any_of=anybody, notes=tuple(notes))

    def _notes(self, source: int, rank: int, tag: int, comm: Communicator) -> Iterable[str]:
        """What became of messages from SOURCE that could have matched."""
        if source not in self.at:
            return
        sender = self._messages.communication(source)
        left: list[tuple[int, str]] = []
        for (to, on, sent), places in sender.sends.items():
            if to != rank:
                continue
            way = (source, sent)
            first = self._world_of.consumed(rank, on, way)
            where = "" if on == comm.name else f" on {on}"
            for place in places[first:]:
                item = sender.item(place)
                if item.event <= self.at[source]:
                    left.append(
                        (
                            item.event,
                            f"rank {source} has sent {item.size_bytes} bytes with tag {sent}"
                            f"{where} (event {item.event}), which were not received",
                        )
                    )
            taker = self._world_of.taker(rank, on, way)
            if on == comm.name and tag in (ANY, sent) and taker is not None:
                yield (
                    f"the message of rank {source} with tag {sent} went to the receive that was "
                    f"posted at event {taker.event}"
                )
        yield from (note for _, note in sorted(left)[-3:])
        if source in self._ended:
            yield f"rank {source} has ended ({self._ended[source]})"

    def _send(self, rank: int, dest: int, tag: int, comm: Communicator, number: int) -> Need | None:
        """The need of a send; NUMBER: index of the message in its channel; -1: the newest."""
        if dest in self.at:
            sent = self._matching.sent(dest, comm.name).get((rank, tag), [])
            if number < 0:
                number += len(sent)
            if number < self._world_of.consumed(dest, comm.name, (rank, tag)):
                return None
        notes = [f"rank {dest} has ended ({self._ended[dest]})"] if dest in self._ended else []
        what = f"rank {dest} to receive tag {tag}"
        if comm.name != WORLD.name:
            what += f", {comm.name}"
        return Need(what, (dest,), notes=tuple(notes))

    def _request(self, rank: int, request: int) -> list[Need] | None:
        """The needs of a request, several if it both sends and receives; None: it is inactive, so a
        call for several requests ignores it (MPI-4.0, 3.7.5)."""
        parts = self._matching.last[rank].get(request, [])
        if not parts:
            why = "the log does not describe the operation of the request"
            return [Need("a request", (), doubt=why, perhaps_none=True)]
        if not any(self._active(rank, request, item) for item, _ in parts):
            return None
        found = [need for item, place in parts for need in self._part(rank, request, item, place)]
        return [need for need in found if need is not None]

    def _active(self, rank: int, request: int, item: Item) -> bool:
        """Has the request been started and not been completed?"""
        name = (mpi_name(item.nr) or "").removesuffix("_c")
        if item.what == What.MADE and name in ("MPI_Psend_init", "MPI_Precv_init"):
            return self._job.partitioned.active(rank, request, self.at)
        if item.what == What.DONE:
            return name == "MPI_Grequest_complete"
        if item.what == What.CANCELLED:
            return not item.order
        return item.what not in (What.RECV, What.PREPARED) and not (
            item.what == What.MADE and name.endswith("_init")
        )

    def _part(self, rank: int, request: int, item: Item, place: int) -> list[Need | None]:
        if item.what in (What.RECV, What.DONE, What.CANCELLED, What.PREPARED):
            return []
        if item.what == What.MADE:
            return [self._made(rank, request, item)]
        communication = self._messages.communication(rank)
        comm = communication.communicator(item.comm, item.event)
        if item.what in (What.POSTED, What.STARTED):
            return [self._receive(rank, item.peer, item.tag, comm, request)]
        if item.what == What.CALL:
            name = collectives()[item.nr][0]
            before = [communication.event(one) for one in communication.collectives[comm.name]]
            return self._needed(rank, name, comm, before.index(item.event), item.peer)
        return [self._sent(rank, place, comm)]

    def _made(self, rank: int, request: int, item: Item) -> Need | None:
        """The need of a request that is neither a message nor a collective on a communicator."""
        name = (mpi_name(item.nr) or "").removesuffix("_c")
        communication = self._messages.communication(rank)
        if name in ("MPI_Psend_init", "MPI_Precv_init"):
            lacks = self._job.partitioned.lacks(rank, request, self.at)
            if lacks is None:
                return None
            doubt = _MAY_BE_BUFFERED if lacks.buffered else ""
            return Need(lacks.what, (lacks.rank,), doubt=doubt)
        if name == "MPI_Grequest_start":
            return Need("MPI_Grequest_complete", (rank,))
        file = communication.file(item.comm, item.event)
        if file is not None and name.endswith("_all"):
            calls = communication.met[(mpi_name(item.nr) or "", file.name)]
            number = bisect_right(calls, item.event)
            missing = [
                one
                for one in self._members(file)
                if self._met(one, mpi_name(item.nr), file.name) < number
            ]
            need = self._lacking(f"{name} on {file.name}", missing)
            return need and replace(need, doubt=_IMPLEMENTED)
        window = communication.window(item.comm) if name.startswith("MPI_R") else None
        if window is not None:
            flush = Call("MPI_Win_flush", name, {"rank": item.peer, "win": item.comm})
            return self._lock(rank, flush, window)
        return None

    def _sent(self, rank: int, place: int, comm: Communicator) -> Need | None:
        """The need of a nonblocking send that has not been received."""
        communication = self._messages.communication(rank)
        item = communication.item(place)
        name = mpi_name(item.nr) or ""
        if name in _BUFFERED:
            return None
        way: Way = (rank, item.tag)
        sent = self._matching.sent(item.peer, comm.name).get(way, []) if item.peer >= 0 else []
        number = next((at for at, one in enumerate(sent) if one[1] == place), -1)
        need = self._send(rank, item.peer, item.tag, comm, number)
        if need is None or name in _SYNCHRONOUS:
            return need
        return replace(need, doubt=_MAY_BE_BUFFERED)
