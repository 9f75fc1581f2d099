"""Which open files the processes of a tree share, and what each has done to them, from the logs."""

from __future__ import annotations

import os
import re
import struct
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from rdb.live import descriptors
from rdb.live.sockets import RECVMMSG, SENDMMSG, end_of, moved_bytes
from rdb.live.tree.born import BornSocket, born_bytes, born_numbers, born_sockets
from rdb.recording.log.record import Note, Record

if TYPE_CHECKING:
    from rdb.live.tree.processes import Node

# x86-64 system calls
_READS, _WRITES = (0, 19, 17, 295, 45, 47, RECVMMSG), (1, 20, 18, 296, 44, 46, SENDMMSG)
_FLAGS_AT, _PEEK = {45: 3, 47: 2, RECVMMSG: 3}, 2
_IN_PROGRESS = -115
_DATAGRAM = 2  # SOCK_DGRAM
_TYPES = 15
_SHUT_RD = 0
_OPEN, _CREAT, _OPENAT, _LSEEK, _GETDENTS64 = 2, 85, 257, 8, 217
_PIPE, _PIPE2, _EVENTFD, _EVENTFD2 = 22, 293, 284, 290
_SIGNALFD, _SIGNALFD4 = 282, 289
_TIMERFD_CREATE, _TIMERFD_SETTIME = 283, 286
_EPOLL_CREATE, _EPOLL_CREATE1, _EPOLL_CTL = 213, 291, 233
_SOCKET, _SOCKETPAIR, _CONNECT, _ACCEPT, _ACCEPT4, _SHUTDOWN = 41, 53, 42, 43, 288, 48
_FLOCK = 73
_COPIES = (40, 275, 276, 278)  # sendfile, splice, tee, vmsplice
_CALLS = (
    *descriptors.CALLS,
    *(_OPEN, _CREAT, _OPENAT, _LSEEK),
    *(_PIPE, _PIPE2, _EVENTFD, _EVENTFD2, _GETDENTS64, 56, 57, 58, 435),
    *(_TIMERFD_CREATE, _TIMERFD_SETTIME, _EPOLL_CREATE, _EPOLL_CREATE1, _EPOLL_CTL),
    *(_SIGNALFD, _SIGNALFD4, _SOCKET, _SOCKETPAIR, _CONNECT, _ACCEPT, _ACCEPT4, _SHUTDOWN),
    *(*_READS, *_WRITES, *_COPIES, _FLOCK),
)
_CLOEXEC = 0o2000000
_F_SETFD = 2
_SEEK_CUR = 1
_PIPE_NOTE = struct.Struct("<QQQ")  # struct rdb_note_pipe
_ACCMODE = 3
_OPENED_BY_NUMBER = re.compile(r"/(?:dev|proc/self|proc/thread-self)/fd/(\d+)\Z")
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_ANY = 0xFFFFFFFF  # -1, as an int


class HeldKind(Enum):
    FILE = auto()
    PIPE = auto()
    COUNTER = auto()
    """An eventfd."""
    SIGNALS = auto()
    """A signalfd."""
    TIMER = auto()
    """A timerfd."""
    EPOLL = auto()
    STREAM = auto()
    """One direction of a connection."""
    SOCKET = auto()
    """A socket without a known peer."""


_FOLLOWED = {
    **{"reads": HeldKind.PIPE, "writes": HeldKind.PIPE, "file": HeldKind.FILE},
    **{"counter": HeldKind.COUNTER, "signals": HeldKind.SIGNALS},
    **{"timer": HeldKind.TIMER, "epoll": HeldKind.EPOLL},
}
"""The kinds that a branch's file of descriptors names."""


@dataclass(frozen=True)
class Held:
    """An open file description (open(2)), identified by the call that opened it."""

    number: int
    what: str
    kind: HeldKind
    had_bytes: int = 0
    """Bytes in it when a branch began."""

    @property
    def pipe(self) -> bool:
        """Whether bytes that are read from it were written to it."""
        return self.kind in (HeldKind.PIPE, HeldKind.STREAM)


@dataclass(frozen=True)
class Operation:
    node: Node
    place: int
    at_ns: int
    held: Held
    size: int
    writes: bool
    copies: bool = False
    """Whether a replay does not know the bytes (sendfile(2) and similar calls)."""
    moves: bool = False
    """Whether its order with operations of other processes matters."""
    shuts: bool = False
    """shutdown(2): no more is written."""


@dataclass
class Ends:
    writers: dict[Node, int] = field(default_factory=dict)
    """Each process that could write, and the place where it closed its last descriptor, or its
    end."""
    holders: set[Node] = field(default_factory=set)
    """Processes that have it open at the places up to which they were followed."""


@dataclass
class _Number:
    held: Held
    writes: bool
    cloexec: bool
    out: Held | None = None
    """Of a socket: what it writes to; `held` then is what it reads from."""

    @property
    def written(self) -> Held | None:
        return self.out or (self.held if self.writes else None)


@dataclass
class Connection:
    """Both directions of a connection between sockets."""

    first: Held
    """The direction that the connecting end writes."""
    second: Held
    connected: list[tuple[Node, int, int]] = field(default_factory=list)
    """The processes that connected: node, place, descriptor."""
    accepted: list[tuple[Node, int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Followed:
    ends: dict[Held, Ends]
    operations: dict[Held, list[Operation]]
    """In order of time."""
    connections: dict[str, Connection]
    numbers: dict[Node, dict[int, Held]]
    """The descriptors of each process that lives at the place up to which it was followed."""


class _Follower:
    def __init__(self, top: Node, until: Mapping[Node, int]) -> None:
        self.top = top.programs[0].path
        self.until = until
        self.made = 0
        self.born: dict[int, Held] = {}
        """Open files that the processes of a branch shared when it began, by number."""
        self.ends: dict[Held, Ends] = defaultdict(Ends)
        self.operations: dict[Held, list[Operation]] = defaultdict(list)
        self.connections: dict[str, Connection] = {}
        self.numbers: dict[Node, dict[int, Held]] = {}
        self.born_streams: dict[tuple[str, bool], Held] = {}
        """Key and side of an end -> the stream that this end writes."""

    def process(
        self, node: Node, numbers: dict[int, _Number], nth: dict[tuple[bool, str], int]
    ) -> None:
        limit = self.until.get(node, node.over)
        if node.born and node.programs:
            numbers = self._begun_with(node)
            self._begun_sockets(node, numbers, nth)
        for child in node.children:
            if child.born:
                self.process(child, {}, {})
        self._writers(node, numbers, node.over)
        for number, program in enumerate(node.programs):
            forks = {
                one.fork_event: one
                for one in node.children
                if one.program_of_parent == number and not one.born
            }
            for at in program.index.of_calls(*_CALLS):
                record = program.index.record(at)
                place = node.place(number, record.event)
                if place > limit:
                    break
                forked = forks.get(record.event)
                if forked is not None:
                    copied = {key: _Number(**vars(one)) for key, one in numbers.items()}
                    self.process(forked, copied, dict(nth))
                elif record.result >= 0 or (
                    record.nr == _CONNECT and record.result == _IN_PROGRESS
                ):
                    before = set(self._written(numbers))
                    if record.nr in (_CONNECT, _ACCEPT, _ACCEPT4):
                        self._connection(node, place, record, numbers, nth)
                    else:
                        self._call(node, place, record, numbers)
                    self._gone(node, place, before, numbers)
            if number + 1 < len(node.programs) and node.bases[number + 1] <= limit:
                before = set(self._written(numbers))
                for one in [key for key, value in numbers.items() if value.cloexec]:
                    del numbers[one]
                self._gone(node, node.bases[number + 1], before, numbers)
        if limit < node.over:
            self.numbers[node] = {number: value.held for number, value in numbers.items()}
            for value in numbers.values():
                for held in (value.held, value.out):
                    if held is not None:
                        self.ends[held].holders.add(node)

    def _begun_with(self, node: Node) -> dict[int, _Number]:
        own: dict[int, Held] = {}
        numbers: dict[int, _Number] = {}
        for one in born_numbers(node.programs[0].path):
            if one.kind not in _FOLLOWED:
                continue
            known = self.born if one.shared else own
            key = one.shared or 2 * one.index + one.pipe
            if key not in known:
                shared = one.pipe and one.shared
                size = born_bytes(self.top, one.shared) if shared else one.size_bytes
                what = "a pipe" if one.pipe else f"descriptor {one.number}"
                known[key] = self._new(what, _FOLLOWED[one.kind], size)
            numbers[one.number] = _Number(known[key], one.kind == "writes", one.cloexec)
        return numbers

    def _begun_sockets(
        self, node: Node, numbers: dict[int, _Number], nth: dict[tuple[bool, str], int]
    ) -> None:
        path = node.programs[0].path
        cloexec = {one.number for one in born_numbers(path) if one.cloexec}
        sockets = born_sockets(path)
        if node.parent is None:
            self._begun_streams(node, sockets)
        for one in sockets:
            if not one.key and one.numbers:
                held = self._new(f"descriptor {one.numbers[0]}", HeldKind.SOCKET)
                for number in one.numbers:
                    writes = one.kind == "datagrams"
                    numbers[number] = _Number(held, writes, number in cloexec)
            if not one.key:
                continue
            out, held = (self.born_streams[one.key, side] for side in (one.first, not one.first))
            for number in one.numbers:
                numbers[number] = _Number(held, False, number in cloexec, out)
            if one.kind == "end":
                prefix = one.key.rpartition(":")[0] + ":"
                nth[one.first, prefix] = nth.get((one.first, prefix), 0) + 1

    def _begun_streams(self, top: Node, sockets: list[BornSocket]) -> None:
        """The file of the first process lists all ends."""
        ends = [one for one in sockets if one.key]
        for one in ends:
            what = "a pair of sockets" if one.kind == "pair" else "a socket"
            held = self._new(what, HeldKind.STREAM, one.left_bytes)
            self.born_streams[one.key, one.first] = held
            if one.shut:
                self.operations[held].append(Operation(top, 0, 0, held, 0, True, shuts=True))
        for one in ends:
            if (one.key, not one.first) not in self.born_streams:  # not accepted yet
                self.born_streams[one.key, not one.first] = self._new("a socket", HeldKind.STREAM)
            if one.kind == "end":
                first, second = (self.born_streams[one.key, side] for side in (True, False))
                both = self.connections.setdefault(one.key, Connection(first, second))
                number = next(iter(one.numbers), -1)
                (both.connected if one.first else both.accepted).append((top, 0, number))

    @staticmethod
    def _written(numbers: dict[int, _Number]) -> list[Held]:
        return [one.written for one in numbers.values() if one.written is not None]

    def _writers(self, node: Node, numbers: dict[int, _Number], place: int) -> None:
        for held in self._written(numbers):
            self.ends[held].writers[node] = place

    def _gone(self, node: Node, place: int, before: set[Held], numbers: dict[int, _Number]) -> None:
        self._writers(node, numbers, node.over)
        for held in before.difference(self._written(numbers)):
            self.ends[held].writers[node] = place

    def _new(self, what: str, kind: HeldKind, had_bytes: int = 0) -> Held:
        self.made += 1
        return Held(self.made, what, kind, had_bytes)

    def _call(self, node: Node, place: int, record: Record, numbers: dict[int, _Number]) -> None:
        number, args, result = record.nr, record.args, record.result
        if number in (_OPEN, _CREAT, _OPENAT):
            flags = args[2] if number == _OPENAT else args[1] if number == _OPEN else 1
            of = numbers.get(_by_number(record))
            if of is not None and of.held.kind is HeldKind.PIPE:
                numbers[result] = _Number(of.held, bool(flags & _ACCMODE), bool(flags & _CLOEXEC))
                return
            held = self._new(f"descriptor {result}", HeldKind.FILE)
            numbers[result] = _Number(held, False, bool(flags & _CLOEXEC))
        elif number in (_PIPE, _PIPE2):
            ends = record.written(args[0], 8)
            held = self._new("a pipe", HeldKind.PIPE)
            cloexec = number == _PIPE2 and bool(args[1] & _CLOEXEC)
            for at in (0, 4):
                one = int.from_bytes(ends[at : at + 4], "little")
                numbers[one] = _Number(held, at == 4, cloexec)
        elif number in (_EVENTFD, _EVENTFD2):
            held = self._new(f"descriptor {result}", HeldKind.COUNTER)
            cloexec = number == _EVENTFD2 and bool(args[1] & _CLOEXEC)
            numbers[result] = _Number(held, False, cloexec)
        elif number in (_TIMERFD_CREATE, _EPOLL_CREATE, _EPOLL_CREATE1):
            timer = number == _TIMERFD_CREATE
            kind = HeldKind.TIMER if timer else HeldKind.EPOLL
            held = self._new(f"descriptor {result}", kind)
            cloexec = number != _EPOLL_CREATE and bool(args[timer] & _CLOEXEC)
            numbers[result] = _Number(held, False, cloexec)
        elif number in (_SOCKET, _SOCKETPAIR):
            self._socket(record, numbers)
        elif number == _SHUTDOWN:
            self._shut(node, place, record, numbers.get(args[0]))
        elif number in (_SIGNALFD, _SIGNALFD4):
            if args[0] & _ANY == _ANY:
                held = self._new(f"descriptor {result}", HeldKind.SIGNALS)
                cloexec = number == _SIGNALFD4 and bool(args[3] & _CLOEXEC)
                numbers[result] = _Number(held, False, cloexec)
        elif number in descriptors.CALLS:
            self._descriptor(record, numbers)
        else:
            self._moved(node, place, record, numbers)

    @staticmethod
    def _descriptor(record: Record, numbers: dict[int, _Number]) -> None:
        nr, args = record.nr, record.args
        if nr == descriptors.FCNTL and args[1] == _F_SETFD and args[0] in numbers:
            numbers[args[0]].cloexec = bool(args[2] & 1)
        elif nr == descriptors.CLOSE_RANGE and args[2] & descriptors.RANGE_CLOEXEC:
            for one in [one for key, one in numbers.items() if args[0] <= key <= args[1]]:
                one.cloexec = True
        else:
            cloexec = (nr == descriptors.DUP3 and bool(args[2] & _CLOEXEC)) or (
                nr == descriptors.FCNTL and args[1] == descriptors.F_DUPFD_CLOEXEC
            )
            for number, source in descriptors.changes(record, list(numbers)):
                if source in numbers:
                    numbers[number] = replace(numbers[source], cloexec=cloexec)
                else:
                    numbers.pop(number, None)

    def _socket(self, record: Record, numbers: dict[int, _Number]) -> None:
        args, cloexec = record.args, bool(record.args[1] & _CLOEXEC)
        if record.nr == _SOCKET:
            held = self._new(f"descriptor {record.result}", HeldKind.SOCKET)
            numbers[record.result] = _Number(held, args[1] & _TYPES == _DATAGRAM, cloexec)
            return
        ends = record.written(args[3], 8)
        both = [self._new("a pair of sockets", HeldKind.STREAM) for _ in range(2)]
        for at in (0, 1):
            one = int.from_bytes(ends[4 * at : 4 * at + 4], "little")
            numbers[one] = _Number(both[at], False, cloexec, both[1 - at])

    def _shut(self, node: Node, place: int, record: Record, one: _Number | None) -> None:
        if one is not None and one.out is not None and record.args[1] != _SHUT_RD:
            self.operations[one.out].append(
                Operation(node, place, record.at_ns, one.out, 0, True, shuts=True)
            )

    def _connection(
        self,
        node: Node,
        place: int,
        record: Record,
        numbers: dict[int, _Number],
        nth: dict[tuple[bool, str], int],
    ) -> None:
        args, connects = record.args, record.nr == _CONNECT
        number = args[0] if connects else record.result
        before = numbers.get(args[0])
        if connects and before is not None and before.writes:
            return  # a datagram socket
        end = end_of(record, nth)
        if end is None:
            return
        both = self.connections.get(end.key)
        if both is None:
            first, second = (self._new("a socket", HeldKind.STREAM) for _ in range(2))
            both = self.connections[end.key] = Connection(first, second)
        (both.connected if connects else both.accepted).append((node, place, number))
        cloexec = record.nr == _ACCEPT4 and bool(args[3] & _CLOEXEC)
        own, other = (both.first, both.second) if connects else (both.second, both.first)
        if connects and before is not None:
            for one in [one for one in numbers.values() if one.held is before.held]:
                one.held, one.out = other, own
        else:
            numbers[number] = _Number(other, False, cloexec, own)
        for held in (own, other):  # it counts as an operation even if nothing is read or written
            self.operations[held].append(Operation(node, place, record.at_ns, held, 0, True))

    def _moved(self, node: Node, place: int, record: Record, numbers: dict[int, _Number]) -> None:
        copies, reads = record.nr in _COPIES, record.nr in _READS
        if record.nr == _FLOCK:
            lock = numbers.get(record.args[0])
            if lock is not None and lock.held.kind is HeldKind.FILE:
                done = Operation(node, place, record.at_ns, lock.held, 0, False)
                self.operations[lock.held].append(done)
            return
        if record.nr == _LSEEK and not record.args[1] and record.args[2] == _SEEK_CUR:
            return  # only asks for the offset
        if record.nr in _FLAGS_AT and record.args[_FLAGS_AT[record.nr]] & _PEEK:
            return
        for at in (0, 1, 2) if copies else (0,):
            one = numbers.get(record.args[at])
            if one is None or not (record.result or not one.held.pipe or reads):
                continue
            held = one.held if reads or one.out is None else one.out
            size = sum(moved_bytes(record))
            for again in range(record.repeat + 1):
                self.operations[held].append(
                    Operation(
                        *(node, place + again, record.at_ns, held, size),
                        record.nr in _WRITES,
                        copies,
                        record.nr not in _READS,
                    )
                )


def _by_number(record: Record) -> int:
    """The descriptor whose pipe was opened again by a path such as /dev/fd/N; -1: none."""
    for chunk in record.chunks:
        if not chunk.addr and chunk.note == Note.PIPE and len(chunk.data) > _PIPE_NOTE.size:
            _, _, named = _PIPE_NOTE.unpack_from(chunk.data)
            path = os.fsdecode(bytes(chunk.data[_PIPE_NOTE.size :]))
            found = _OPENED_BY_NUMBER.match(path)
            if not named:
                return int(found[1]) if found else _STANDARD.get(path, -1)
    return -1


def follow(top: Node, until: Mapping[Node, int]) -> Followed:
    """Which descriptors the processes have at the places UNTIL, and all operations on them.

    A process without a place in UNTIL is followed to its end.
    """
    follower = _Follower(top, until)
    follower.process(top, {}, {})
    for operations in follower.operations.values():
        operations.sort(key=lambda one: one.at_ns)
    return Followed(follower.ends, follower.operations, follower.connections, follower.numbers)
