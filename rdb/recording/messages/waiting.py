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

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from rdb.recording.log.describe import PROC_NULL
from rdb.recording.messages.collective_needs import IMPLEMENTED
from rdb.recording.messages.matching import RECEIVES, SENDS, Matching
from rdb.recording.messages.meeting_needs import MeetingNeeds
from rdb.recording.messages.message_needs import MAY_BE_BUFFERED, MessageNeeds
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.standing import Standings, comm_of
from rdb.recording.messages.wait_graph import ASLEEP, POLLS, Call, Need, Waiter, WaitFor
from rdb.recording.messages.window_needs import LOCKING
from rdb.recording.mpi.collectives import collectives, file_collectives, meetings, nonblocking
from rdb.recording.mpi.communication import Communicator

_PROBES = frozenset(("MPI_Probe", "MPI_Mprobe"))
_WAITS_ALL = frozenset(("MPI_Wait", "MPI_Waitall"))
_WAITS_ANY = frozenset(("MPI_Waitany", "MPI_Waitsome"))
_ASLEEP = "all its threads wait for each other: only a signal or another process may wake them"
_TWO_ALIKE = "two of its threads send or receive at once: which did so first is not known"
_OTHER_THREADS = "it has other threads, and it is not known what they do next"
_INITS = frozenset(("MPI_Init", "MPI_Init_thread"))
_FREES = frozenset(("MPI_Win_free", "MPI_Comm_free", "MPI_Comm_disconnect", "MPI_File_close"))
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
    job = Standings(messages, matching, stands, ended, lost, threaded)
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
    comm = comm_of(call.arguments)
    known = {one for one, _ in collectives().values()}
    return (
        name in _PROBES | _INITS | _FREES | _OUTSIDE | LOCKING | {ASLEEP}
        or name in ("MPI_Recv", "MPI_Finalize", "MPI_Mrecv", *SENDS, *RECEIVES)
        or name in ("MPI_Win_fence", "MPI_Win_wait", "MPI_Win_complete", "MPI_Win_start")
        or name in meetings().values()
        or name in file_collectives().values()
        or (comm is not None and name in known and not nonblocking(name))
    )


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


class _Needs(MessageNeeds, MeetingNeeds):
    """What calls wait for, in one world."""

    def of(self, rank: int, call: Call) -> list[Need]:
        """What a call waits for; empty: it can go on, or does not wait for other ranks."""
        name, arguments = call.name, call.arguments
        comm = self._comm(rank, comm_of(arguments))
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
                sent = replace(sent, doubt=MAY_BE_BUFFERED)
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
                found.append(need and replace(need, doubt=IMPLEMENTED))
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
                if [need.doubt for need in needs] == [MAY_BE_BUFFERED]
                else needs
                for needs in found
            ]
        needs = [replace(need, of=of) for of, one in enumerate(found) for need in one]
        if call.name in POLLS:
            why = f"it polls with {call.name}, and may do other work between two calls"
            return [replace(need, doubt=why, perhaps_none=True) for need in needs]
        return needs

    def doubt(self, calls: Sequence[Call]) -> str:
        """Why the order of the calls of several threads is not known; "": it is."""
        for kind in (SENDS, RECEIVES):
            comms = [call.arguments["comm"] for call in calls if call.name in kind]
            if len(set(comms)) < len(comms):
                return _TWO_ALIKE
        return ""
