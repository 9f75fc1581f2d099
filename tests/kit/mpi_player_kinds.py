"""What mpi_player.py plays besides messages and barriers of one communicator.

Locks of a window may be taken when they are asked for or when they are needed, and be given in the
order of asking or not; a collective may wait for more ranks than those whose data it needs: the
standard leaves that to the MPI, and what is played is chosen by the seed.
"""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import Note
from rdb.recording.messages.partitioned import Partitioned
from rdb.recording.mpi.communication import RankCommunication, What
from rdb.recording.mpi.locks import ALL, EXCLUSIVE

INTER = 262  # between the even and the odd ranks
BCAST, GATHER, SCAN, CART = 258, 259, 260, 261  # communicators, each for calls of one kind
FILE = 302
COLLECTIVES = {
    BCAST: ("MPI_Bcast", 0),
    GATHER: ("MPI_Gather", 1),
    SCAN: ("MPI_Scan", 0),
    CART: ("MPI_Neighbor_allgather", 0),
    INTER: ("MPI_Barrier", 0),
    FILE: ("MPI_File_set_size", 0),
}
CLOSED, MERGED, PORT = 303, 304, 305
"""For what waits there: that it is closed, that INTER is merged, that somebody connects."""
WINDOW = 300
_NEVER = 1 << 62


@cache
def _nr(name: str) -> int:
    return next(int(one["nr"]) for one in mpi_functions() if one["name"] == name)


def remote(size: int, own: int) -> list[int]:
    """The other group of INTER."""
    return [rank for rank in range(size) if (rank - own) % 2]


@dataclass
class End:
    """A partitioned request."""

    rank: int
    sends: bool
    channel: tuple[int, ...]
    number: int
    parts: int
    id: int
    transfers: list[set[int]] = field(default_factory=list)
    """What is ready of each."""


class Kinds:
    at_barrier: dict[tuple[int, int], set[int]]
    size: int

    def __init__(self, chance: random.Random) -> None:
        self.lazy = chance.random() < 0.2
        self.in_order = chance.random() < 0.5
        self.style = chance.choice(("least", "chain", "all"))
        self.queue: list[tuple[int, int, bool]] = []  # rank, target, exclusive
        self.held: list[tuple[int, int, bool]] = []
        self.open: dict[int, tuple[int, bool]] = {}
        """By ranks: their sections.  What would be an error is passed over."""
        self.came: dict[tuple[Any, ...], set[int]] = defaultdict(set)
        self.turns: dict[tuple[Any, ...], int] = defaultdict(int)
        self.ends: dict[tuple[int, ...], tuple[list[End], list[End]]] = defaultdict(
            lambda: ([], [])
        )
        self.completed: set[tuple[int, str]] = set()

    # Locks.

    def _targets(self, target: int) -> list[int]:
        return list(range(self.size)) if target == ALL else [target]

    def grants(self) -> list[tuple[int, int, bool]]:
        """Locks that can be given."""
        found = []
        for place, (rank, target, exclusive) in enumerate(self.queue):
            before = self.held + (self.queue[:place] if self.in_order else [])
            if not any(at == target and (exclusive or other) for _, at, other in before):
                found.append((rank, target, exclusive))
        return found

    def grant(self, rank: int, target: int, exclusive: bool) -> None:
        self.queue.remove((rank, target, exclusive))
        self.held.append((rank, target, exclusive))

    def _ask(self, rank: int, target: int, exclusive: bool) -> None:
        for one in self._targets(target):
            known = (rank, one, exclusive)
            if known not in self.queue and known not in self.held:
                self.queue.append(known)

    def _has(self, rank: int, target: int) -> bool:
        return all(
            any((who, at) == (rank, one) for who, at, _ in self.held)
            for one in self._targets(target)
        )

    def _enter_lock(self, rank: Any, target: int, exclusive: bool) -> None:
        if rank.number not in self.open and not self.lazy:
            self._ask(rank.number, target, exclusive)

    def _can_lock(self, rank: Any, target: int, exclusive: bool) -> bool:
        return self.lazy or rank.number in self.open or self._has(rank.number, target)

    def _leave_lock(self, rank: Any, target: int, exclusive: bool) -> None:
        if rank.number in self.open:
            return
        self.open[rank.number] = target, exclusive
        name = "MPI_Win_lock_all" if target == ALL else "MPI_Win_lock"
        kind = EXCLUSIVE if exclusive else 2
        where = {"peer": 0 if target == ALL else target, "tag": 0 if target == ALL else kind}
        rank.note(What.CALL, comm=WINDOW, nr=_nr(name), **where)

    def _enter_flush(self, rank: Any, target: int, exclusive: bool) -> None:
        if self.open.get(rank.number) == (target, exclusive):
            self._ask(rank.number, target, exclusive)

    def _can_flush(self, rank: Any, target: int, exclusive: bool) -> bool:
        section = self.open.get(rank.number)
        return section != (target, exclusive) or self._has(rank.number, target)

    _enter_unlock, _can_unlock = _enter_flush, _can_flush

    def _leave_unlock(self, rank: Any, target: int, exclusive: bool) -> None:
        if self.open.get(rank.number) != (target, exclusive):
            return
        del self.open[rank.number]
        self.held = [one for one in self.held if one[0] != rank.number]
        name = "MPI_Win_unlock_all" if target == ALL else "MPI_Win_unlock"
        rank.note(What.CALL, comm=WINDOW, nr=_nr(name), peer=0 if target == ALL else target)

    def lock_call(self, what: str, target: int, exclusive: bool) -> tuple[str, dict[str, int]]:
        arguments = {"win": WINDOW}
        if target != ALL:
            arguments["rank"] = target
            if what == "lock":
                arguments["lock_type"] = EXCLUSIVE if exclusive else 2
        return f"MPI_Win_{what}" + ("_all" if target == ALL else ""), arguments

    # Collectives that need not wait for everybody.

    def _needed(self, comm: int, rank: int) -> set[int]:
        everybody, first = set(range(self.size)), COLLECTIVES[comm][1]
        if comm == CART:
            return {(rank + 1) % self.size, (rank - 1) % self.size}
        if self.style == "all":
            return everybody
        if comm == INTER:
            return set(remote(self.size, rank))
        place = (rank - first) % self.size  # in the chain that the root begins
        before = {(first + one) % self.size for one in range(place)}
        if comm == GATHER:
            if rank == first:
                return everybody
            return everybody - before if self.style == "chain" else set()
        if self.style == "chain" or comm == SCAN:
            return before
        return {first}

    def _enter_rooted(self, rank: Any, comm: int) -> None:
        self.came[(comm, self.turns[(rank.number, comm)])].add(rank.number)

    def _can_rooted(self, rank: Any, comm: int) -> bool:
        place = (comm, self.turns[(rank.number, comm)])
        return self._needed(comm, rank.number) <= self.came[place] | {rank.number}

    def _leave_rooted(self, rank: Any, comm: int) -> None:
        self.turns[(rank.number, comm)] += 1
        name, root = COLLECTIVES[comm]
        rank.note(What.CALL, comm=comm, nr=_nr(name), peer=root)

    # Requests.

    def _add(self, rank: Any, name: int, **values: Any) -> Any:
        from mpi_player import Request

        request = rank.requests[name] = Request(rank.take_id(), **values)
        return request

    def _leave_irooted(self, rank: Any, comm: int, name: int) -> None:
        self._enter_rooted(rank, comm)
        place = (comm, self.turns[(rank.number, comm)])
        self.turns[(rank.number, comm)] += 1
        request = self._add(rank, name, of=("rooted", place, rank.number))
        called, root = COLLECTIVES[comm]
        nr = _nr("MPI_I" + called[4:].lower())
        rank.note(What.CALL, comm=comm, nr=nr, peer=root, request=request.id)

    def _leave_ifile(self, rank: Any, name: int) -> None:
        place = ("file", self.turns[(rank.number, "file")])
        self.turns[(rank.number, "file")] += 1
        self.came[place].add(rank.number)
        request = self._add(rank, name, of=("file", place, rank.number))
        rank.note(What.MADE, comm=FILE, nr=_nr("MPI_File_iwrite_at_all"), request=request.id)

    def _leave_generalized(self, rank: Any, name: int) -> None:
        request = self._add(rank, name, of=("generalized", (rank.number, name)))
        rank.note(What.MADE, nr=_nr("MPI_Grequest_start"), request=request.id)

    def _leave_completes(self, rank: Any, name: int) -> None:
        request, key = rank.requests.get(name), (rank.number, name)
        if request and request.of[:1] == ("generalized",) and key not in self.completed:
            self.completed.add(key)
            rank.note(What.DONE, nr=_nr("MPI_Grequest_complete"), comm=request.id)

    def _leave_sinit(
        self, rank: Any, mode: str, dest: int, tag: int, comm: int, big: int, name: int
    ) -> None:
        request = self._add(
            rank, name, launch=(mode, dest, tag, comm, big), persistent=True, active=False
        )
        called = {"n": "MPI_Send_init", "s": "MPI_Ssend_init", "b": "MPI_Bsend_init"}[mode]
        rank.note(What.MADE, nr=_nr(called), request=request.id)

    # Partitioned messages.

    def _leave_parts(self, rank: Any, sends: bool, peer: int, tag: int, name: int) -> None:
        channel = (*((rank.number, peer) if sends else (peer, rank.number)), tag)
        row = self.ends[channel][0 if sends else 1]
        request = self._add(rank, name, persistent=True, active=False)
        end = End(rank.number, sends, channel, len(row), 2, request.id)
        row.append(end)
        request.of = ("parts", channel, sends, end.number)
        called = "MPI_Psend_init" if sends else "MPI_Precv_init"
        rank.note(What.MADE, nr=_nr(called), request=request.id)
        handle = struct.pack("<Q", request.id)
        args = (0, end.parts, 1, 0, peer, tag, 2, 0, 1)
        self._record(rank, called, args, [], handle)

    def _record(
        self, rank: Any, name: str, args: tuple[int, ...], texts: list[str], wrote: bytes = b""
    ) -> None:
        chunks = [SimpleNamespace(addr=0, note=Note.TEXT, data=one.encode()) for one in texts]
        rank.records.append(
            SimpleNamespace(
                event=rank.event, nr=_nr(name), result=0, args=args, chunks=chunks, wrote=wrote
            )
        )

    def start(self, rank: Any, request: Any) -> None:
        request.active = True
        self._end(request.of).transfers.append(set())
        self._record(rank, "MPI_Start", (0,), [f"partitioned={request.id} started"])

    def _end(self, of: tuple[Any, ...]) -> End:
        return self.ends[of[1]][0 if of[2] else 1][of[3]]

    def _leave_ready(self, rank: Any, part: int, name: int) -> None:
        request = rank.requests.get(name)
        if request and request.active and part not in (end := self._end(request.of)).transfers[-1]:
            end.transfers[-1].add(part)
            self._record(rank, "MPI_Pready", (part, request.id), [])

    def done(self, of: tuple[Any, ...]) -> bool:
        if of[0] == "rooted":
            return self._needed(of[1][0], of[2]) <= self.came[of[1]] | {of[2]}
        if of[0] == "file":
            return self._needed(FILE, of[2]) <= self.came[of[1]] | {of[2]}
        if of[0] == "generalized":
            return of[1] in self.completed
        own = self._end(of)
        others = self.ends[of[1]][1 if of[2] else 0]
        there = others[of[3]] if of[3] < len(others) else None
        turn = len(own.transfers) - 1
        begun = there is not None and len(there.transfers) > turn
        if own.sends:
            ready = len(own.transfers[turn]) == own.parts
            return ready and (begun or self.style == "least")
        return there is not None and begun and len(there.transfers[turn]) == there.parts

    def settle_kind(self, rank: Any, request: Any) -> None:
        if request.of[0] == "rooted":
            rank.note(What.DONE, request=request.id)
        if request.of[0] == "generalized":
            self.completed.discard(request.of[1])
        if request.of[0] == "parts":
            self._record(rank, "MPI_Wait", (0,), [f"partitioned={request.id} complete"])

    def partitioned(self, known: dict[int, RankCommunication]) -> Partitioned:
        ranks: list[Any] = self.ranks  # type: ignore[attr-defined]
        job = SimpleNamespace(ranks=list(known), rank=lambda number: _Log(ranks[number].records))
        return Partitioned(job, known, _NEVER)


class _Log:
    def __init__(self, records: list[Any]) -> None:
        self.index, self._records = self, records

    def of_hypercalls(self, wanted: frozenset[int]) -> list[int]:
        return [place for place, one in enumerate(self._records) if one.nr in wanted]

    def record(self, place: int) -> Any:
        one = self._records[place]
        return SimpleNamespace(**vars(one), written=lambda _address, size: one.wrote[:size])
