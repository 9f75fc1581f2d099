"""Which rank waits for which: the wait-for graph of a job, and the deadlock in it.

Each rank stands at an event and asks for a call.  Most calls wait for somebody: a receive for its
sender, a collective for the members that have not come to it.  A rank is deadlocked if nobody that
it waits for can ever go on: who computes can, who has ended cannot, who waits for all of several
ranks can if all of them can, who waits for any of them if one can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rdb.recording.collectives import Flow, collectives, nonblocking
from rdb.recording.communication import Communicator, Item, What
from rdb.recording.epochs import Epochs, missing, unposted
from rdb.recording.messages import Messages
from rdb.recording.queues import ANY, posted_receives, unreceived

_PROC_NULL = -2
_SENDS = frozenset(("MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend"))
_RECEIVES = frozenset(("MPI_Recv", "MPI_Probe", "MPI_Mprobe"))
_EXCHANGES = frozenset(("MPI_Sendrecv", "MPI_Sendrecv_replace"))
_WAITS_ALL = frozenset(("MPI_Wait", "MPI_Waitall"))
_WAITS_ANY = frozenset(("MPI_Waitany", "MPI_Waitsome"))


@dataclass(frozen=True)
class Call:
    """What a rank asks for where it stands: an MPI call that has not been answered."""

    name: str
    text: str
    """With its arguments."""
    arguments: Mapping[str, int]
    requests: tuple[int, ...] = ()
    """Of a call that waits for requests: their ids, of those that are no MPI_REQUEST_NULL."""


@dataclass(frozen=True)
class Need:
    """One thing that a rank waits for."""

    what: str
    ranks: tuple[int, ...]
    """Who could bring it about; any one of them if `any_of`, else all of them are needed."""
    any_of: bool = False
    notes: tuple[str, ...] = ()


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

    @property
    def waits_for(self) -> tuple[int, ...]:
        return tuple(sorted({rank for need in self.needs for rank in need.ranks}))


@dataclass(frozen=True)
class WaitFor:
    """The graph."""

    waiters: tuple[Waiter, ...]
    free: tuple[int, ...]
    """Ranks that are not blocked in MPI."""
    ended: Mapping[int, str]
    deadlocked: tuple[int, ...]
    cycle: tuple[int, ...] = ()
    """Ranks each of which waits for the next, the last one for the first; empty: there is none."""
    notes: tuple[str, ...] = field(default=())


def wait_for(
    messages: Messages,
    at: Mapping[int, int],
    calls: Mapping[int, Call],
    ended: Mapping[int, str],
    answered: Collection[int] = (),
) -> WaitFor:
    """AT: where each rank stands; CALLS: what those ask for that have not ended; ANSWERED: those
    of them that got their answer later in the recording."""
    needs = _Needs(messages, at, calls, ended)
    waiters: dict[int, Waiter] = {}
    for rank, call in calls.items():
        found = needs.of(rank, call)
        if found:
            waiters[rank] = Waiter(rank, at[rank], call, tuple(found), call.name in _WAITS_ANY)
    stuck = _stuck(waiters, ended, answered)
    free = [rank for rank in at if rank not in waiters and rank not in ended]
    return WaitFor(
        tuple(
            Waiter(one.rank, one.event, one.call, one.needs, one.any_of, one.rank in stuck)
            for one in waiters.values()
        ),
        tuple(free),
        dict(ended),
        tuple(sorted(stuck)),
        _cycle(waiters, stuck),
        tuple(needs.mismatches()),
    )


def _stuck(
    waiters: Mapping[int, Waiter], ended: Mapping[int, str], answered: Collection[int]
) -> set[int]:
    """Ranks that can never go on."""
    stuck = set(waiters).difference(answered)

    def can_come(need: Need) -> bool:
        free = [rank not in stuck and rank not in ended for rank in need.ranks]
        return any(free) if need.any_of else all(free)

    while True:
        released = {
            rank
            for rank in stuck
            if (any if waiters[rank].any_of else all)(
                can_come(need) for need in waiters[rank].needs
            )
        }
        if not released:
            return stuck
        stuck -= released


def _cycle(waiters: Mapping[int, Waiter], stuck: set[int]) -> tuple[int, ...]:
    """The shortest one among those that are stuck; of equal ones that with the lowest rank."""
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


def _comm_of(arguments: Mapping[str, int]) -> int | None:
    """Of a communicator with a topology it is the one that it was made of."""
    return arguments.get("comm", arguments.get("comm_old"))


class _Needs:
    def __init__(
        self,
        messages: Messages,
        at: Mapping[int, int],
        calls: Mapping[int, Call],
        ended: Mapping[int, str],
    ) -> None:
        self._messages = messages
        self._at = at
        self._calls = calls
        self._ended = ended
        self._numbers = {name: nr for nr, (name, _) in collectives().items()}

    def of(self, rank: int, call: Call) -> list[Need]:
        """What a call waits for; nothing: it can go on, or does not wait for other ranks."""
        arguments = call.arguments
        comm = self._comm(rank, _comm_of(arguments))
        found: list[Need | None] = []
        if call.name in _RECEIVES and comm:
            found.append(self._receive(rank, arguments["source"], arguments["tag"], comm))
        elif call.name in _SENDS and comm:
            found.append(self._send(rank, arguments["dest"], arguments["tag"], comm))
        elif call.name in _EXCHANGES and comm:
            found.append(self._send(rank, arguments["dest"], arguments["sendtag"], comm))
            found.append(self._receive(rank, arguments["source"], arguments["recvtag"], comm))
        elif call.name in _WAITS_ALL | _WAITS_ANY:
            found += [self._request(rank, one) for one in call.requests]
            if call.name in _WAITS_ANY and None in found:
                return []
        elif call.name == "MPI_Finalize":
            missing = [
                one
                for one in self._at
                if one != rank and not self._ended.get(one) and not self._finalizes(one)
            ]
            found.append(Need("MPI_Finalize of all ranks", tuple(missing)) if missing else None)
        elif call.name in self._numbers and comm:
            flow = collectives()[self._numbers[call.name]][1]
            if flow is Flow.LATER or nonblocking(call.name):
                return []
            number = self._done(rank, comm.name)
            found.append(self._collective(rank, call.name, comm, number))
        elif "win" in arguments:
            found.append(self._on_window(rank, call))
        return [need for need in found if need is not None]

    def mismatches(self) -> Iterable[str]:
        """Collectives that are not the same one in all ranks."""
        groups: dict[tuple[str, int], dict[str, list[int]]] = {}
        for rank, call in self._calls.items():
            comm = self._comm(rank, _comm_of(call.arguments))
            if comm and call.name in self._numbers:
                number = self._done(rank, comm.name)
                groups.setdefault((comm.name, number), {}).setdefault(call.name, []).append(rank)
        for (comm_name, number), names in groups.items():
            if len(names) > 1:
                said = ", ".join(
                    f"{name} in rank {','.join(map(str, ranks))}" for name, ranks in names.items()
                )
                yield f"collective {number + 1} of {comm_name} is not the same one: {said}"

    def _finalizes(self, rank: int) -> bool:
        call = self._calls.get(rank)
        return call is not None and call.name == "MPI_Finalize"

    def _comm(self, rank: int, number: int | None) -> Communicator | None:
        if number is None:
            return None
        return self._messages.communication(rank).communicator(number, self._at[rank])

    def _members(self, comm: Communicator) -> tuple[int, ...]:
        if comm.members is not None:
            return comm.members
        return tuple(
            rank
            for rank in self._at
            if comm.name in self._messages.communication(rank).communicators
        )

    def _world(self, comm: Communicator, rank: int) -> int:
        members = self._members(comm)
        return members[rank] if 0 <= rank < len(members) else rank

    def _done(self, rank: int, comm: str) -> int:
        """How many collectives RANK has behind it on that communicator."""
        communication = self._messages.communication(rank)
        calls = communication.collectives.get(comm, ())
        return sum(communication.event(place) <= self._at[rank] for place in calls)

    def _collective(self, rank: int, name: str, comm: Communicator, number: int) -> Need | None:
        missing, notes = [], []
        for one in self._members(comm):
            if one == rank or one not in self._at:
                continue
            done = self._done(one, comm.name)
            if done > number:
                continue
            call = self._calls.get(one)
            theirs = self._where(one, call) if call else None
            if done == number and call and call.name == name and theirs == comm:
                continue
            missing.append(one)
            if one in self._ended:
                notes.append(f"rank {one} has ended ({self._ended[one]})")
        if not missing:
            return None
        return Need(f"{name} on {comm.name}", tuple(missing), notes=tuple(notes))

    def _where(self, rank: int, call: Call) -> Communicator | None:
        """The communicator of a call, or the ranks of its window."""
        if "win" in call.arguments:
            return self._messages.communication(rank).window(call.arguments["win"])
        return self._comm(rank, _comm_of(call.arguments))

    def _on_window(self, rank: int, call: Call) -> Need | None:
        window = self._where(rank, call)
        if window is None:
            return None
        if call.name == "MPI_Win_fence":
            return self._collective(rank, call.name, window, self._done(rank, window.name))
        others: dict[int, Epochs] = {}
        for one in self._at:
            others[one] = self._messages.communication(one).epochs.get(window.name, Epochs())
        if call.name == "MPI_Win_wait":
            what, ranks = "MPI_Win_complete", missing(others[rank], others, self._at, rank)
        elif call.name == "MPI_Win_complete":
            what, ranks = "MPI_Win_post", unposted(others[rank], others, self._at, rank)
        else:
            return None
        notes = [
            f"rank {one} has ended ({self._ended[one]})" for one in ranks if one in self._ended
        ]
        if not ranks:
            return None
        return Need(f"{what} on {window.name}", ranks, notes=tuple(notes))

    def _receive(self, rank: int, source: int, tag: int, comm: Communicator) -> Need | None:
        if source == _PROC_NULL:
            return None
        anybody = source == ANY
        if anybody:
            ranks = [one for one in self._members(comm) if one in self._at]
            if any(one != rank for one in ranks):
                ranks = [one for one in ranks if one != rank]
        else:
            ranks = [self._world(comm, source)]
        notes = []
        for one in ranks:
            if one not in self._at:
                continue
            waiting = unreceived(self._messages, self._at, one, rank)
            if any(m.comm == comm.name and tag in (ANY, m.tag) for m in waiting):
                return None
            if self._sending(one, rank, tag, comm):
                return None
            for message in waiting[-3:]:
                where = "" if message.comm == comm.name else f" on {message.comm}"
                notes.append(
                    f"rank {one} has sent it {message.size_bytes} bytes with tag {message.tag}"
                    f"{where} (event {message.sent_at}), which it has not received"
                )
            if one in self._ended:
                notes.append(f"rank {one} has ended ({self._ended[one]})")
        what = "a message from " + ("any rank" if anybody else f"rank {ranks[0]}")
        what += ", any tag" if tag == ANY else f", tag {tag}"
        if comm.name != "MPI_COMM_WORLD":
            what += f", {comm.name}"
        return Need(what, tuple(ranks), any_of=anybody, notes=tuple(notes))

    def _sending(self, rank: int, dest: int, tag: int, comm: Communicator) -> bool:
        """Does RANK ask for the send that is needed?"""
        call = self._calls.get(rank)
        if call is None or call.name not in _SENDS | _EXCHANGES:
            return False
        theirs = self._comm(rank, _comm_of(call.arguments))
        sent = call.arguments["tag" if call.name in _SENDS else "sendtag"]
        return (
            theirs is not None
            and theirs.name == comm.name
            and self._world(theirs, call.arguments["dest"]) == dest
            and tag in (ANY, sent)
        )

    def _send(self, rank: int, dest: int, tag: int, comm: Communicator) -> Need | None:
        if dest == _PROC_NULL:
            return None
        to = self._world(comm, dest)
        if to not in self._at or self._receiving(to, rank, tag, comm):
            return None
        notes = [f"rank {to} has ended ({self._ended[to]})"] if to in self._ended else []
        what = f"rank {to} to receive tag {tag}"
        if comm.name != "MPI_COMM_WORLD":
            what += f", {comm.name}"
        return Need(what, (to,), notes=tuple(notes))

    def _receiving(self, rank: int, source: int, tag: int, comm: Communicator) -> bool:
        """Has RANK posted, or does it ask for, a receive of that?"""
        communication = self._messages.communication(rank)
        if any(
            post.takes(source, tag, comm.name)
            for post in posted_receives(communication, rank, self._at[rank])
        ):
            return True
        call = self._calls.get(rank)
        if call is None or call.name not in _RECEIVES | _EXCHANGES:
            return False
        theirs = self._comm(rank, _comm_of(call.arguments))
        wanted = call.arguments["recvtag" if call.name in _EXCHANGES else "tag"]
        given = call.arguments["source"]
        return (
            theirs is not None
            and theirs.name == comm.name
            and (given == ANY or self._world(theirs, given) == source)
            and wanted in (ANY, tag)
        )

    def _request(self, rank: int, request: int) -> Need | None:
        """What a request waits for; None: nothing, or it is not known what it is."""
        item = self._last(rank, request)
        if item is None or item.what in (What.RECV, What.DONE, What.PREPARED):
            return None
        communication = self._messages.communication(rank)
        comm = communication.communicator(item.comm, item.event)
        if item.what in (What.POSTED, What.STARTED):
            return self._receive(rank, item.peer, item.tag, comm)
        if item.what == What.CALL:
            name = collectives()[item.nr][0]
            before = [communication.event(place) for place in communication.collectives[comm.name]]
            return self._collective(rank, name, comm, before.index(item.event))
        return self._sent(rank, item, comm)

    def _last(self, rank: int, request: int) -> Item | None:
        """What the request was made for."""
        communication = self._messages.communication(rank)
        found = prepared = None
        for item in communication.items():
            if item.event > self._at[rank]:
                break
            if item.request == request and "Win_" not in collectives().get(item.nr, ("",))[0]:
                prepared = item if item.what == What.PREPARED else prepared
                found = item
                if item.what == What.STARTED:  # of a persistent receive, which says what it is
                    found = prepared and prepared._replace(event=item.event, what=int(item.what))
        return found

    def _sent(self, rank: int, item: Item, comm: Communicator) -> Need | None:
        """A nonblocking send: has it been received?"""
        if item.peer not in self._at:
            return None
        waiting = unreceived(self._messages, self._at, rank, item.peer)
        if not any(one.sent_at == item.event for one in waiting):
            return None
        if self._receiving(item.peer, rank, item.tag, comm):
            return None
        return Need(f"rank {item.peer} to receive tag {item.tag}", (item.peer,))
