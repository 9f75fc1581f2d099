"""Logs of processes that nobody ran: what each called and when its answer was logged."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from rdb.recording import EndKind, Kind

READ, WRITE, CLOSE, PIPE, DUP, DUP2, LSEEK, SENDFILE = 0, 1, 3, 22, 32, 33, 8, 40
CLONE, FORK, VFORK, WAIT4, KILL, FCNTL, WAITID, OPENAT = 56, 57, 58, 61, 62, 72, 247, 257
DUP3, PIPE2, CLOSE_RANGE, CONNECT, GETPPID = 292, 293, 436, 42, 110
CHLD, TERM, KILLED = 17, 15, 9
AT = 0x1000
"""Where calls of these programs have their results written."""


@dataclass
class Entry:
    kind: Kind
    event: int
    at_ns: int
    nr: int = 0
    args: tuple[int, ...] = (0,) * 6
    result: int = 0
    repeat: int = 0
    wrote: bytes = b""
    chunks: list[Any] = field(default_factory=list)

    def written(self, address: int, size: int) -> bytes:
        assert address == AT
        return self.wrote[:size]


class Log:
    """As much of a RankRecording and of its index as a plan looks at."""

    made: ClassVar[dict[Path, Log]] = {}

    def __init__(self, path: Path, pid: int, begins_ns: int) -> None:
        path.mkdir(parents=True)
        (path / "log-000000.seg").touch()
        self.path, self.files_dir, self.name, self.rank = path, path / "files", "0", 0
        self.meta = {"pid": pid, "argv": ["prog", "arg"]}
        self.entries = [Entry(Kind.START, 0, begins_ns)]
        self.end: Any = None
        self.index = self
        self.made[path] = self

    # ---- to make one ----

    def call(
        self, at_ns: int, nr: int, *args: int, result: int = 0, repeat: int = 0, wrote: bytes = b""
    ) -> int:
        """Its event."""
        event = self.last_event + 1
        words = (*args, *(0,) * (6 - len(args)))
        self.entries.append(Entry(Kind.SYSCALL, event, at_ns, nr, words, result, repeat, wrote))
        return event

    def pipe(self, at_ns: int, reads: int, writes: int, flags: int = 0) -> int:
        return self.call(at_ns, PIPE2, AT, flags, wrote=struct.pack("<ii", reads, writes))

    def signal(self, at_ns: int, number: int, code: int, pid: int) -> int:
        event = self.last_event + 1
        info = struct.unpack("<3Q", struct.pack("<iiiiii", number, 0, code, 0, pid, 0))
        self.entries.append(Entry(Kind.SIGNAL, event, at_ns, number, info))
        return event

    def ended(self, at_ns: int, value: int, kind: EndKind = EndKind.EXIT) -> None:
        self.entries.append(Entry(Kind.END, self.last_event, at_ns, kind.value))
        self.end = SimpleNamespace(kind=kind, value=value)

    def child(self, number: int, pid: int, begins_ns: int) -> Log:
        return Log(self.path / f"child-{number}", pid, begins_ns)

    def becomes(self, begins_ns: int) -> Log:
        return Log(self.path / "exec", self.meta["pid"], begins_ns)  # type: ignore[arg-type]

    # ---- what a plan asks ----

    @property
    def last_event(self) -> int:
        events = [one for one in self.entries if one.kind.is_event]
        return events[-1].event + events[-1].repeat

    @property
    def known_pid(self) -> int:
        return int(self.meta.get("pid", 0))

    def records(self) -> Iterator[Entry]:
        return iter(self.entries)

    def event(self, event: int) -> Entry:
        return next(one for one in self.entries if one.event <= event <= one.event + one.repeat)

    def of_calls(self, *numbers: int) -> list[int]:
        return self._places(lambda one: one.kind is Kind.SYSCALL and one.nr in numbers)

    def of_kind(self, *kinds: Kind) -> list[int]:
        return self._places(lambda one: one.kind in kinds)

    def of_hypercalls(self, numbers: frozenset[int]) -> list[int]:
        return self._places(lambda one: one.kind is Kind.HYPERCALL and one.nr in numbers)

    def libraries(self, event: int) -> set[int]:
        calls = (one for one in self.entries if one.kind is Kind.HYPERCALL)
        return {one.nr >> 16 for one in calls if one.event <= event}

    def _places(self, wanted: Any) -> list[int]:
        return [place for place, one in enumerate(self.entries) if wanted(one)]

    def record(self, place: int) -> Entry:
        return self.entries[place]

    def number(self, place: int) -> int:
        return self.entries[place].nr

    def brief(self, place: int) -> tuple[Kind, int, int]:
        one = self.entries[place]
        return one.kind, one.event, one.repeat

    def describe(self, event: int) -> str:
        return f"call {self.event(event).nr}"


def opened(path: Path, files_dir: Path, name: str) -> Log:
    log = Log.made[path]
    log.files_dir, log.name = files_dir, name
    return log


def places(plan: Any) -> Mapping[str, int]:
    return {node.name: place for node, place in plan.places.items()}
