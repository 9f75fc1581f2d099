"""A small MPI that plays programs of some ranks, and writes the log items that rdb would record.

A program is a list of operations for each rank.  Messages of one rank to another arrive in their
order, at any time; a message takes the first receive that was posted, a receive the first message
that has arrived.  Small standard sends and buffered ones are complete at once, others when they are
received.  What is played is chosen by a seed.
"""

from __future__ import annotations

import copy
import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from mpi_player_kinds import (
    BCAST,
    CART,
    CLOSED,
    COLLECTIVES,
    FILE,
    GATHER,
    INTER,
    MERGED,
    PORT,
    SCAN,
    Kinds,
    remote,
)

from rdb.recording.log.describe import mpi_functions
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.wait_graph import Call
from rdb.recording.mpi.communication import Item, RankCommunication, What
from rdb.recording.mpi.items import ITEM

Op = tuple[Any, ...]
Program = list[list[Op]]
WORLD, DUP, BACK = 2, 256, 257  # BACK: the same ranks in the other order
WIN, FREED = 300, 301  # a window; for what waits there: that it is freed
_SENDS = {"n": "MPI_Send", "s": "MPI_Ssend", "b": "MPI_Bsend"}
BIG = 100_000  # bytes: above every eager limit
SMALL = 8
_SAID = 8  # texts that each rank begins with


@cache
def _nr(name: str) -> int:
    return next(int(one["nr"]) for one in mpi_functions() if one["name"] == name)


@dataclass(eq=False)
class Message:
    source: int
    dest: int
    comm: int
    tag: int
    bytes: int
    waits: bool
    """Its sender, until it is received."""
    taken: bool = False


@dataclass(eq=False)
class Receive:
    source: int
    tag: int
    comm: int
    order: int = 0
    message: Message | None = None
    cancelled: bool = False

    def accepts(self, one: Message) -> bool:
        return (
            self.comm == one.comm
            and self.source in (-1, one.source)
            and self.tag in (-1, one.tag)
            and self.message is None
            and not self.cancelled
        )


@dataclass(eq=False)
class Request:
    id: int
    message: Message | None = None
    receive: Receive | None = None
    barrier: tuple[int, int] | None = None
    of: tuple[Any, ...] = ()
    """Of another kind (mpi_player_kinds.py)."""
    launch: tuple[Any, ...] = ()
    """What a persistent send sends."""
    persistent: bool = False
    active: bool = True


@dataclass(eq=False)
class Rank:
    number: int
    event: int = 2
    at: int = 0
    entered: bool = False
    ended: bool = False
    items: list[Item] = field(default_factory=list)
    requests: dict[int, Request] = field(default_factory=dict)  # by the program's names
    free_ids: list[int] = field(default_factory=list)
    next_id: int = 256
    next_message: int = 256
    orders: int = 0
    receive: Receive | None = None  # the blocking one
    message: Message | None = None
    probed: list[tuple[Message, int]] = field(default_factory=list)
    orphans: list[Request] = field(default_factory=list)
    barriers: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    texts: list[str] = field(default_factory=list)
    posts: list[list[int]] = field(default_factory=list)  # epochs of the window
    starts: list[list[int]] = field(default_factory=list)
    completes: int = 0
    posted: list[Receive] = field(default_factory=list)
    unexpected: list[Message] = field(default_factory=list)
    records: list[Any] = field(default_factory=list)

    def take_id(self) -> int:
        if self.free_ids:
            return self.free_ids.pop()
        self.next_id += 1
        return self.next_id - 1

    def note(self, what: What, **values: int) -> None:
        row = dict.fromkeys(Item._fields, 0) | {"event": self.event, "at_ns": self.event}
        self.items.append(Item(**(row | values | {"what": int(what)})))


class Player(Kinds):
    def __init__(self, program: Program, seed: int) -> None:
        self.program = program
        self.size = len(program)
        self.chance = random.Random(seed)
        self.ranks = [Rank(number) for number in range(self.size)]
        self.network: dict[tuple[int, int], list[Message]] = defaultdict(list)
        self.at_barrier: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.finalized: set[int] = set()
        super().__init__(self.chance)

    # Ranks of communicators.

    def world(self, comm: int, rank: int, own: int) -> int:
        if comm == INTER and rank >= 0:
            return remote(self.size, own)[rank]
        return self.size - 1 - rank if comm == BACK and rank >= 0 else rank

    # Playing.

    def step(self) -> bool:
        """One thing that can happen does.  False: nothing can."""
        moves: list[Any] = [way for way, queue in self.network.items() if queue]
        moves += [rank for rank in self.ranks if not rank.ended and self._can(rank)]
        moves += self.grants()
        if not moves:
            return False
        move = self.chance.choice(moves)
        if isinstance(move, Rank):
            self._move(move)
        elif len(move) == 3:
            self.grant(*move)
        else:
            self._arrive(self.network[move].pop(0))
        return True

    def play(self, steps: int | None = None) -> None:
        while steps != 0 and self.step():
            steps = None if steps is None else steps - 1

    def settle(self) -> None:
        """What MPI does by itself is done: whoever stands in a call that may wait for its receiver
        when it is killed has waited there."""
        moved = True
        while moved:
            for queue in self.network.values():
                while queue:
                    self._arrive(queue.pop(0))
            while grants := self.grants():
                self.grant(*self.chance.choice(grants))
            sends = ("send", "sendrecv", "wait", "waitany", "rooted", "lock", "unlock", "flush")
            ready = [
                rank
                for rank in self.ranks
                if not rank.ended
                and rank.entered
                and self._op(rank)[0] in sends
                and self._can(rank)
            ]
            for rank in ready:
                self._move(rank)
            moved = bool(ready)

    def blocked(self) -> set[int]:
        """Of a job in which nothing can happen any more."""
        return {rank.number for rank in self.ranks if not rank.ended}

    def left(self, rank: Rank) -> list[Op]:
        """What completes what a rank has under way: receives and a wait."""
        ops: list[Op] = []
        for one in rank.unexpected:
            ways = remote(self.size, rank.number) if one.comm == INTER else range(self.size)
            ranks = range(len(ways))
            source = next(r for r in ranks if self.world(one.comm, r, rank.number) == one.source)
            ops.append(("recv", source, one.tag, one.comm, -1))
        if active := [name for name, one in rank.requests.items() if one.active]:
            ops.append(("wait", active))
        return ops

    def _arrive(self, one: Message) -> None:
        rank = self.ranks[one.dest]
        for receive in rank.posted:
            if receive.accepts(one):
                receive.message, one.taken = one, True
                rank.posted.remove(receive)
                return
        rank.unexpected.append(one)

    def _post(self, rank: Rank, receive: Receive) -> None:
        for one in rank.unexpected:
            if receive.accepts(one):
                receive.message, one.taken = one, True
                rank.unexpected.remove(one)
                return
        rank.posted.append(receive)

    def _op(self, rank: Rank) -> Op:
        ops = self.program[rank.number]
        return ops[rank.at] if rank.at < len(ops) else ("finalize",)

    def _can(self, rank: Rank) -> bool:
        return not rank.entered or self._complete(rank)

    def _move(self, rank: Rank) -> None:
        op = self._op(rank)
        if not rank.entered:
            rank.entered = True
            getattr(self, f"_enter_{op[0]}", lambda *_: None)(rank, *op[1:])
            return
        rank.event += 1 + (self.chance.random() < 0.2)
        getattr(self, f"_leave_{op[0]}", lambda *_: None)(rank, *op[1:])
        for one in [one for one in rank.orphans if one.receive and one.receive.message]:
            rank.orphans.remove(one)
            assert one.receive
            self._note_receive(rank, one.receive, one.id)
        rank.at += 1
        rank.entered = False

    def _complete(self, rank: Rank) -> bool:
        op = self._op(rank)
        if known := getattr(self, f"_can_{op[0]}", None):
            return bool(known(rank, *op[1:]))
        match op[0]:
            case "send" | "sendrecv":
                sent = (op[0] == "send" and op[6] >= 0) or not self._holds(rank.message)
                here = rank.receive is None or rank.receive.message is not None
                return sent and here
            case "recv":
                return op[4] >= 0 or (rank.receive is not None and rank.receive.message is not None)
            case "probe" | "mprobe":
                return self._find(rank, op) is not None
            case "wait":
                return all(self._done(rank.requests.get(name)) for name in op[1])
            case "waitany":
                known = [rank.requests.get(name) for name in op[1]]
                active = [one for one in known if one and one.active]
                return not active or any(self._done(one) for one in active)
            case "poll":
                return self._done(rank.requests.get(op[1]))
            case "barrier":
                there = self.at_barrier[(op[1], rank.barriers[op[1]])]
                return len(there) == self.size and op[1] != PORT
            case "finalize":
                return len(self.finalized) == self.size
            case "winstart":
                return all(
                    _with(self.ranks[one].posts, rank.number) >= _with(rank.starts, one)
                    for one in op[1]
                )
            case "winwait":
                done = [self.ranks[one].starts[: self.ranks[one].completes] for one in op[1]]
                return all(
                    _with(starts, rank.number) >= _with(rank.posts, one)
                    for one, starts in zip(op[1], done, strict=True)
                )
        return True

    def _find(self, rank: Rank, op: Op) -> Message | None:
        wanted = Receive(self.world(op[3], op[1], rank.number), op[2], op[3])
        return next((one for one in rank.unexpected if wanted.accepts(one)), None)

    @staticmethod
    def _holds(one: Message | None) -> bool:
        return one is not None and one.waits and not one.taken

    def _done(self, one: Request | None) -> bool:
        if one is None or not one.active:
            return True
        if one.of:
            return self.done(one.of)
        if one.barrier is not None:
            return len(self.at_barrier[one.barrier]) == self.size
        if one.receive is not None:
            return one.receive.message is not None or one.receive.cancelled
        return not self._holds(one.message)

    # Calls.

    def _launch(self, rank: Rank, mode: str, dest: int, tag: int, comm: int, big: int) -> Message:
        size = BIG if big else SMALL
        waits = mode == "s" or (mode == "n" and bool(big))
        there = self.world(comm, dest, rank.number)
        one = Message(rank.number, there, comm, tag, size, waits)
        self.network[(one.source, one.dest)].append(one)
        return one

    def _note_send(self, rank: Rank, one: Message, request: int, name: str) -> None:
        rank.note(
            What.SEND,
            peer=one.dest,
            tag=one.tag,
            comm=one.comm,
            request=request,
            size_bytes=one.bytes,
            nr=_nr(name),
        )

    def _note_receive(self, rank: Rank, one: Receive, request: int, name: str = "MPI_Wait") -> None:
        got = one.message
        assert got
        if not request and not one.order:
            rank.orders += 1
            one.order = rank.orders
        rank.note(
            What.RECV,
            peer=got.source,
            tag=got.tag,
            comm=got.comm,
            request=request,
            size_bytes=got.bytes,
            order=one.order,
            nr=_nr(name),
        )

    def _enter_send(
        self, rank: Rank, mode: str, dest: int, tag: int, comm: int, big: int, name: int
    ):  # type: ignore[no-untyped-def]
        rank.message = self._launch(rank, mode, dest, tag, comm, big)

    def _leave_send(
        self, rank: Rank, mode: str, dest: int, tag: int, comm: int, big: int, name: int
    ):  # type: ignore[no-untyped-def]
        one, rank.message = rank.message, None
        assert one
        if name < 0:
            self._note_send(rank, one, 0, _SENDS[mode])
            return
        request = rank.requests[name] = Request(rank.take_id(), message=one)
        call = {"n": "MPI_Isend", "s": "MPI_Issend", "b": "MPI_Ibsend"}[mode]
        self._note_send(rank, one, request.id, call)

    def _enter_recv(self, rank: Rank, source: int, tag: int, comm: int, name: int) -> None:
        rank.receive = Receive(self.world(comm, source, rank.number), tag, comm)
        self._post(rank, rank.receive)

    def _leave_recv(self, rank: Rank, source: int, tag: int, comm: int, name: int) -> None:
        one, rank.receive = rank.receive, None
        assert one
        if name < 0:
            self._note_receive(rank, one, 0, "MPI_Recv")
            return
        rank.orders += 1
        one.order = rank.orders
        request = rank.requests[name] = Request(rank.take_id(), receive=one)
        rank.note(What.POSTED, peer=source, tag=tag, comm=comm, request=request.id)

    def _enter_sendrecv(self, rank: Rank, *op: int) -> None:
        dest, sent, source, tag, comm = op
        self._enter_recv(rank, source, tag, comm, -1)
        rank.message = self._launch(rank, "n", dest, sent, comm, 0)

    def _leave_sendrecv(self, rank: Rank, *_: int) -> None:
        assert rank.message and rank.receive
        self._note_send(rank, rank.message, 0, "MPI_Sendrecv")
        self._note_receive(rank, rank.receive, 0, "MPI_Sendrecv")
        rank.message = rank.receive = None

    def _leave_rinit(self, rank: Rank, source: int, tag: int, comm: int, name: int) -> None:
        receive = Receive(self.world(comm, source, rank.number), tag, comm)
        rank.requests[name] = Request(
            rank.take_id(), receive=receive, persistent=True, active=False
        )
        rank.note(What.PREPARED, peer=source, tag=tag, comm=comm, request=rank.requests[name].id)

    def _leave_start(self, rank: Rank, name: int) -> None:
        request = rank.requests.get(name)
        if request is None or request.active or not request.persistent:
            return  # that would be an error
        if request.of:
            self.start(rank, request)
            return
        if request.launch:
            request.active = True
            request.message = self._launch(rank, *request.launch)
            self._note_send(rank, request.message, request.id, "MPI_Start")
            return
        assert request.receive
        rank.orders += 1
        request.receive = Receive(
            request.receive.source, request.receive.tag, request.receive.comm, rank.orders
        )
        request.active = True
        self._post(rank, request.receive)
        rank.note(What.STARTED, request=request.id)

    def _leave_probe(self, rank: Rank, *op: int) -> None:
        one = self._find(rank, ("", *op))
        assert one
        rank.note(What.PROBED, peer=one.source, tag=one.tag, comm=op[2])

    def _leave_mprobe(self, rank: Rank, *op: int) -> None:
        one = self._find(rank, ("", *op))
        assert one
        one.taken = True
        rank.unexpected.remove(one)
        rank.orders += 1
        rank.probed.append((one, rank.orders))
        source, tag, comm = op
        rank.note(What.MATCHED, peer=source, tag=tag, comm=comm, request=rank.next_message)
        rank.note(What.PROBED, peer=one.source, tag=one.tag, comm=comm)
        rank.next_message += 1

    def _leave_mrecv(self, rank: Rank) -> None:
        if rank.probed:
            one, order = rank.probed.pop(0)
            receive = Receive(one.source, one.tag, one.comm, order, one)
            self._note_receive(rank, receive, 0, "MPI_Mrecv")

    def _settle(self, rank: Rank, name: int) -> None:
        request = rank.requests.get(name)
        if request is None or not request.active:
            return
        if request.of:
            self.settle_kind(rank, request)
        elif request.barrier is not None or request.launch:
            rank.note(What.DONE, request=request.id)
        elif request.receive is not None and request.receive.cancelled:
            rank.note(What.CANCELLED, request=request.id, order=request.receive.order)
        elif request.receive is not None:
            self._note_receive(rank, request.receive, request.id)
        if request.persistent:
            request.active = False
        else:
            del rank.requests[name]
            rank.free_ids.append(request.id)

    def _leave_wait(self, rank: Rank, names: list[int]) -> None:
        for name in names:
            self._settle(rank, name)

    def _leave_waitany(self, rank: Rank, names: list[int]) -> None:
        known = [name for name in names if name in rank.requests and rank.requests[name].active]
        done = [name for name in known if self._done(rank.requests[name])]
        if done:
            self._settle(rank, self.chance.choice(done))

    def _leave_poll(self, rank: Rank, name: int) -> None:
        self._settle(rank, name)

    def _leave_cancel(self, rank: Rank, name: int) -> None:
        request = rank.requests.get(name)
        if request and request.active and request.receive:
            rank.note(What.CANCELLED, request=request.id)
        if request and request.active and request.receive in rank.posted:
            assert request.receive
            request.receive.cancelled = True
            rank.posted.remove(request.receive)

    def _leave_free(self, rank: Rank, name: int) -> None:
        request = rank.requests.get(name)
        if request and request.receive and request.active and not request.persistent:
            del rank.requests[name]
            rank.free_ids.append(request.id)
            rank.orphans.append(request)

    def _say(self, rank: Rank, text: str) -> None:
        rank.texts.append(text)
        rank.note(What.TEXT, order=len(rank.texts) + _SAID - 1)

    def _leave_post(self, rank: Rank, group: list[int]) -> None:
        rank.posts.append(group)
        self._say(rank, f"win={WIN} post ranks={_words(group)}")

    def _enter_winstart(self, rank: Rank, group: list[int]) -> None:
        rank.starts.append(group)
        self._say(rank, f"group={400 + len(rank.starts)} ranks={_words(group)}")

    def _leave_winstart(self, rank: Rank, group: list[int]) -> None:
        self._say(rank, f"win={WIN} start ranks={_words(group)}")

    def _leave_complete(self, rank: Rank) -> None:
        rank.completes += 1
        rank.note(What.CALL, comm=WIN, nr=_nr("MPI_Win_complete"))

    def _leave_winwait(self, rank: Rank, group: list[int]) -> None:
        rank.note(What.CALL, comm=WIN, nr=_nr("MPI_Win_wait"))

    def _enter_barrier(self, rank: Rank, comm: int) -> None:
        self.at_barrier[(comm, rank.barriers[comm])].add(rank.number)

    def _leave_barrier(self, rank: Rank, comm: int) -> None:
        rank.barriers[comm] += 1
        if comm == FREED:
            rank.note(What.FREED, request=WIN, nr=_nr("MPI_Win_free"))
        elif comm == CLOSED:
            rank.note(What.FREED, request=FILE, nr=_nr("MPI_File_close"))
        elif comm == MERGED:
            rank.note(What.MET, comm=INTER, nr=_nr("MPI_Intercomm_merge"))
        else:
            name = "MPI_Win_fence" if comm == WIN else "MPI_Barrier"
            rank.note(What.CALL, comm=comm, nr=_nr(name))

    def _leave_ibarrier(self, rank: Rank, comm: int, name: int) -> None:
        place = (comm, rank.barriers[comm])
        self.at_barrier[place].add(rank.number)
        rank.barriers[comm] += 1
        request = rank.requests[name] = Request(rank.take_id(), barrier=place)
        rank.note(What.CALL, comm=comm, nr=_nr("MPI_Ibarrier"), request=request.id)

    def _enter_finalize(self, rank: Rank) -> None:
        self.finalized.add(rank.number)

    def _leave_finalize(self, rank: Rank) -> None:
        rank.ended = True

    # What rdb is told.

    def call(self, rank: Rank) -> Call | None:
        """That in which it stands; None: it is between two calls, or has ended."""
        if rank.ended or not rank.entered:
            return None
        op = self._op(rank)
        names = {"wait": "MPI_Waitall", "waitany": "MPI_Waitany", "poll": "MPI_Test"}
        names |= {"probe": "MPI_Probe", "mprobe": "MPI_Mprobe", "barrier": "MPI_Barrier"}
        names |= {"finalize": "MPI_Finalize", "sendrecv": "MPI_Sendrecv"}
        names |= {"winstart": "MPI_Win_start", "winwait": "MPI_Win_wait"}
        arguments: dict[str, int] = {}
        requests: tuple[int, ...] = ()
        name = names.get(op[0], "")
        match op[0]:
            case "send":
                if op[6] >= 0:
                    return None
                name = _SENDS[op[1]]
                arguments = {"dest": op[2], "tag": op[3], "comm": op[4]}
            case "recv":
                if op[4] >= 0:
                    return None
                name, arguments = "MPI_Recv", {"source": op[1], "tag": op[2], "comm": op[3]}
            case "sendrecv":
                arguments = {"dest": op[1], "sendtag": op[2], "source": op[3], "recvtag": op[4]}
                arguments["comm"] = op[5]
            case "probe" | "mprobe":
                arguments = {"source": op[1], "tag": op[2], "comm": op[3]}
            case "wait" | "waitany" | "poll":
                wanted = op[1] if op[0] != "poll" else [op[1]]
                found = [rank.requests[one] for one in wanted if one in rank.requests]
                requests = tuple(one.id for one in found)
                if op[0] == "wait" and len(wanted) == 1:
                    name = "MPI_Wait"
            case "barrier" if op[1] in (CLOSED, MERGED, PORT):
                name, arguments = {
                    CLOSED: ("MPI_File_close", {"fh": FILE}),
                    MERGED: ("MPI_Intercomm_merge", {"intercomm": INTER}),
                    PORT: ("MPI_Comm_accept", {"comm": DUP}),
                }[op[1]]
            case "barrier" if op[1] in (WIN, FREED):
                name = "MPI_Win_fence" if op[1] == WIN else "MPI_Win_free"
                arguments = {"win": WIN}
            case "barrier":
                arguments = {"comm": op[1]}
            case "winstart":
                arguments = {"win": WIN, "group": 400 + len(rank.starts)}
            case "winwait":
                arguments = {"win": WIN}
            case "finalize":
                pass
            case "lock" | "unlock" | "flush":
                name, arguments = self.lock_call(*op)
            case "rooted":
                name, root = COLLECTIVES[op[1]]
                arguments = {"fh": FILE} if op[1] == FILE else {"comm": op[1], "root": root}
            case _:
                return None
        return Call(name, name, arguments, requests)

    def messages(self) -> Messages:
        known = {rank.number: _Played(rank, self.size) for rank in self.ranks}
        return cast(
            "Messages",
            SimpleNamespace(
                ranks=list(known),
                communication=lambda rank: known[rank],
                partitioned=lambda: self.partitioned(known),
            ),
        )

    def copy(self, seed: int) -> Player:
        other = copy.deepcopy(self)
        other.chance = random.Random(seed)
        return other


class _Played(RankCommunication):
    """A rank's communication, from the items that were played."""

    def __init__(self, rank: Rank, size: int) -> None:
        ranks = list(range(size))
        own = rank.number
        self._texts = [
            f"comm={DUP} context=1 by=MPI_Comm_dup rank={own} ranks={_words(ranks)}",
            f"comm={BACK} context=2 by=MPI_Comm_split rank={size - 1 - own} "
            f"ranks={_words(ranks[::-1])}",
            *(
                f"comm={comm} context={comm} by=MPI_Comm_dup rank={own} ranks={_words(ranks)}"
                for comm in (BCAST, GATHER, SCAN, CART)
            ),
            f"neighbors={CART} ranks={(own - 1) % size},{(own + 1) % size},",
            f"comm={INTER} context=3 by=MPI_Intercomm_create rank={own // 2} "
            f"ranks={_words(remote(size, own))}",
        ]
        texts = len(self._texts)
        self._texts += rank.texts
        row = dict.fromkeys(Item._fields, 0)
        made = [
            Item(**(row | {"event": 1, "what": int(What.TEXT), "order": n})) for n in range(texts)
        ]
        window = {"event": 2, "what": int(What.CALL), "comm": WORLD, "request": WIN}
        made.append(Item(**(row | window | {"nr": _nr("MPI_Win_create")})))
        made.append(Item(**(row | window | {"nr": _nr("MPI_File_open"), "request": FILE})))
        # as the log has it: a send's rank of the world, a call's arguments as they are
        packed = b"".join(ITEM.pack(*one) for one in [*made, *rank.items])
        self._packed = memoryview(packed)
        super().__init__(Path("/nowhere"), 0, rank.number)

    def _read(self) -> memoryview:
        return self._packed

    def _text(self, item: Item) -> str:
        return self._texts[item.order]

    def begun_with(self) -> list[str]:
        return []


def _with(groups: list[list[int]], rank: int) -> int:
    return sum(rank in group for group in groups)


def _words(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
