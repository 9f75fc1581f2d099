"""The fields of an event that a query can use, from the log alone.

A query is evaluated once for each message that an event completed or posted, so that
`source == 3 and tag == 5` refers to one message.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from rdb.recording.log.describe import mpi_functions, mpi_parameters, mpi_results
from rdb.recording.log.record import Kind, Note, Receive, Record, signal_name, signed32
from rdb.recording.log.syscalls import SYSCALLS
from rdb.recording.log.verbs_calls import verbs_numbers
from rdb.recording.query.verbs_fields import ITEM_FIELDS, items, parameter_names, parameters

_CLOCK = 1  # RDB_FN(RDB_NS_CORE, RDB_CORE_CLOCK)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FD_FIRST = _words(
    "read write close fstat lseek ioctl pread64 pwrite64 readv writev preadv pwritev preadv2 "
    "pwritev2 dup dup2 dup3 fcntl fsync fdatasync ftruncate flock fchmod fchown getdents "
    "getdents64 connect accept accept4 sendto recvfrom sendmsg recvmsg shutdown bind listen "
    "getsockname getpeername setsockopt getsockopt sendmmsg recvmmsg epoll_ctl epoll_wait "
    "epoll_pwait timerfd_settime timerfd_gettime fallocate fadvise64 fchdir fstatfs"
)
FD_RESULT = _words(
    "open openat openat2 creat socket epoll_create epoll_create1 eventfd eventfd2 timerfd_create "
    "signalfd signalfd4 memfd_create inotify_init inotify_init1"
)
BYTES_RESULT = _words(
    "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 sendto recvfrom "
    "sendmsg recvmsg sendfile copy_file_range splice getrandom"
)
# Index of the argument that is a path.  The path itself must be read from the program's memory.
PATH_ARGUMENT = {
    **dict.fromkeys(
        _words(
            "open creat stat lstat access chdir mkdir rmdir unlink readlink chmod chown truncate "
            "rename statfs"
        ),
        0,
    ),
    **dict.fromkeys(
        _words(
            "openat openat2 newfstatat faccessat faccessat2 mkdirat unlinkat readlinkat fchmodat "
            "fchownat renameat renameat2 statx"
        ),
        1,
    ),
}

KINDS = {
    Kind.START: "start",
    Kind.SYSCALL: "syscall",
    Kind.HYPERCALL: "call",
    Kind.UPCALL: "upcall",
    Kind.SIGNAL: "signal",
    Kind.TSC: "tsc",
    Kind.RESUME: "resume",
    Kind.PREEMPT: "preempt",
}
_GENERAL = ("kind", "name", "rank", "thread", "event", "repeat", "result", "errno", "time")
_CALLS = ("fd", "path", "bytes", "signal", *(f"arg{number}" for number in range(6)))
_MESSAGES = ("source", "dest", "tag")
OF_MESSAGES = frozenset({*_MESSAGES, *ITEM_FIELDS, "receive", "send"})
"""Names that mean something of one message or verbs request of an event."""

Paths = Callable[[Record], str | None]


@cache
def field_names() -> frozenset[str]:
    """All names that an expression may use."""
    names = {*_GENERAL, *_CALLS, *_MESSAGES, *ITEM_FIELDS, *parameter_names()}
    for function in mpi_functions():
        names.update(function["params"])
    return frozenset(names)


@cache
def event_names() -> frozenset[str]:
    """Bare words, in lower case, that are true of events of that name."""
    calls = {name for name, _ in SYSCALLS.values()}
    mpi = {dotted(str(function["name"])) for function in mpi_functions()}
    verbs = {dotted(name) for name in verbs_numbers().values()}
    words = {"mpi", "verbs", "clock", "receive", "send"}
    return frozenset({*KINDS.values(), *words, *calls, *mpi, *verbs})


@cache
def calls_named(name: str) -> frozenset[tuple[Kind, int]]:
    """Kinds and numbers of the calls of that name; empty: it is the name of none."""
    known = [(Kind.SYSCALL, nr, call) for nr, (call, _) in SYSCALLS.items()]
    known += [(Kind.HYPERCALL, nr, call) for nr, call in _call_names().items()]
    return frozenset((kind, nr) for kind, nr, call in known if call == name)


def dotted(name: str) -> str:
    """`MPI_Recv` -> `mpi.recv`, `ibv_post_send` -> `verbs.post_send`."""
    if name.startswith("ibv_"):
        return f"verbs.{name[4:]}"
    return name.lower().replace("_", ".", 1) if name.startswith("MPI_") else name.lower()


class Event:
    """One event, and the one of its messages or requests that is evaluated."""

    def __init__(
        self,
        record: Record,
        rank: int,
        start_ns: int,
        paths: Paths | None,
        number: int | None = None,
    ) -> None:
        """NUMBER: the event, if it is not the first one of its record.  START_NS: time 0."""
        self.record = record
        self._number = record.event if number is None else number
        self._rank = rank
        self._start_ns = start_ns
        self._paths = paths
        self.name = name_of(record.kind, record.nr)
        self._message: tuple[Note, int, int, int] | None = None
        self._item: dict[str, Any] | None = None

    def each(self) -> Iterator[Event]:
        """This event once for each message or verbs request; once if it has none."""
        messages = self._messages() if self.record.kind is Kind.HYPERCALL else []
        requests = items(self.record) if self.name.startswith("verbs.") else []
        if not messages and not requests:
            yield self
        for item in requests:
            self._item = item
            yield self
        for one in messages:
            self._message = one
            yield self

    def is_a(self, word: str) -> bool:
        """Does WORD name the event: its kind, its call, `mpi`, `verbs`, `receive` or `send`?"""
        if word in ("receive", "send"):
            note = Note.RECV if word == "receive" else Note.SEND
            return self._message is not None and self._message[0] is note
        if word in ("mpi", "verbs"):
            return self.name.startswith(f"{word}.")
        return word in (self.name, KINDS[self.record.kind])

    def get(self, name: str) -> Any:
        """The value of a field; None: the event does not have it."""
        record = self.record
        match name:
            case "kind":
                library = self.name.partition(".")[0]
                return library if library in ("mpi", "verbs") else KINDS[record.kind]
            case "name":
                return self.name
            case "rank":
                return self._rank
            case "event":
                return self._number
            case "thread" | "repeat":
                return getattr(record, name)
            case "result":
                return record.result
            case "errno":
                return errno.errorcode.get(-record.result) if self._failed() else None
            case "time":
                return (record.at_ns - self._start_ns) / 1e9
            case "signal":
                return signal_name(record.nr) if record.kind is Kind.SIGNAL else None
            case "fd":
                return self._descriptor() if record.kind is Kind.SYSCALL else None
            case "path":
                return self._paths(record) if self._paths and self.name in PATH_ARGUMENT else None
        return self._argument(name)

    def _argument(self, name: str) -> Any:
        record = self.record
        if self._message is not None and name in ("source", "dest", "tag", "bytes"):
            note, peer, tag, size_bytes = self._message
            of = {"source": Note.RECV, "dest": Note.SEND}.get(name, note)
            if of is note:
                return {"tag": tag, "bytes": size_bytes}.get(name, peer)
        if self._item is not None and name in ITEM_FIELDS:
            return self._item.get(name)
        if name == "bytes":
            return record.result if self.name in BYTES_RESULT and not self._failed() else None
        if name.startswith("arg") and name[3:].isdigit():
            place = int(name[3:])
            return record.args[place] if place < len(record.args) else None
        if record.kind is Kind.HYPERCALL:
            value = {**mpi_parameters(record), **parameters(record)}.get(name)
            size = mpi_results(record.nr).get(name)
            return value if size is None or value is None else self._returned(value, size)
        return None

    def _returned(self, address: int, size: int) -> int:
        """The number that the call has stored there; else the address."""
        for chunk in self.record.chunks:
            place = address - chunk.addr
            if chunk.addr and 0 <= place <= len(chunk.data) - size:
                return int.from_bytes(chunk.data[place : place + size], "little", signed=True)
        return address

    def _failed(self) -> bool:
        answered = self.record.kind is Kind.SYSCALL or self.name.startswith("verbs.")
        return answered and -4096 < self.record.result < 0

    def _descriptor(self) -> int | None:
        if self.name in FD_FIRST:
            return signed32(self.record.args[0])
        if self.name in FD_RESULT:
            return self.record.result
        return signed32(self.record.args[4]) if self.name == "mmap" else None

    def _messages(self) -> list[tuple[Note, int, int, int]]:
        found = []
        for chunk in self.record.chunks:
            if chunk.addr == 0 and chunk.note in (Note.RECV, Note.SEND):
                one = Receive.of(self.record, chunk)
                found.append((Note(chunk.note), one.source, one.tag, one.size_bytes))
        return found


def name_of(kind: Kind, nr: int) -> str:
    """The name of an event of this kind and number."""
    match kind:
        case Kind.SYSCALL:
            return SYSCALLS.get(nr, (f"syscall_{nr}", None))[0]
        case Kind.HYPERCALL:
            return _call_names().get(nr, "call")
        case Kind.SIGNAL:
            return signal_name(nr).lower()
    return KINDS[kind]


@cache
def _call_names() -> dict[int, str]:
    names = {int(one["nr"]): dotted(str(one["name"])) for one in mpi_functions()}
    verbs = {nr: dotted(name) for nr, name in verbs_numbers().items()}
    return {**names, **verbs, _CLOCK: "clock"}
