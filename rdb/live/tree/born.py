"""What a branch with several processes began with, for restarts of the branch.

The files are those of interposer/restart/tree/tree_born.h.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rdb.live.sockets import begun_sockets
from rdb.private import opener

_NODES, _PIDS, _NUMBERS, _CHILDREN = "tree-nodes", "tree-pids", "tree-began", "children-before"
PID_ENTRY = struct.Struct("<iiIii")  # struct pid_entry
_COUNT = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class BornNode:
    """A process that existed; nodes are in the order of the tree, parents first."""

    parent: int
    """Number of the parent node; -1: the first process."""
    child: int
    """N of the directory child-N."""
    lives: bool
    """False: the process has ended, and its parent has not waited for it."""
    status: int
    told: bool
    """Whether its parent had received SIGCHLD for it."""
    orphan: bool = False
    """It had outlived its parent; `parent` then is the process below whose recording it is put."""


@dataclass(frozen=True, slots=True)
class BornPid:
    """A process id as the program knows it, with group and session (0: those of the first
    process).
    """

    pid: int
    group: int
    session: int


@dataclass(frozen=True, slots=True)
class BornNumber:
    """An open descriptor."""

    number: int
    cloexec: bool
    kind: str
    """Kind of the descriptor, as interposer/restart/tree/tree_born.c names it."""
    shared: int
    """Number of the open file that several processes share; 0: it is not shared."""
    index: int
    """Equal for both ends of a pipe within one process."""
    size_bytes: int
    """Bytes that were in the pipe."""

    @property
    def pipe(self) -> bool:
        return self.kind in ("reads", "writes")


def is_born(top: Path) -> bool:
    """Whether TOP is a branch that began with several processes."""
    return (top / _NUMBERS).exists()


def write_born(folder: Path, nodes: Sequence[BornNode]) -> None:
    with open(folder / "nodes", "x", encoding="ascii", opener=opener) as file:
        json.dump([asdict(one) for one in nodes], file)


def read_born(top: Path) -> list[tuple[BornNode, BornPid]] | None:
    """The processes with their ids; None: an older rdb made the branch."""
    try:
        nodes = [BornNode(**one) for one in json.loads((top / _NODES).read_text(encoding="ascii"))]
        pids = (top / _PIDS).read_bytes()
    except OSError:
        return None
    entries = [
        BornPid(known, group, session)
        for known, _, _, group, session in PID_ENTRY.iter_unpack(pids)
    ]
    return list(zip(nodes, entries, strict=False))  # processes of the past come last


def born_numbers(process: Path) -> list[BornNumber]:
    found = []
    for line in (process / _NUMBERS).read_text(encoding="ascii").splitlines():
        number, cloexec, kind, shared, index, size = line.split()
        found.append(
            BornNumber(
                int(number),
                cloexec == "1",
                kind,
                int(shared),
                int(index),
                int(size),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class BornSocket:
    """An end of a connection, or a socket without a peer."""

    kind: str
    """end, pair, alone or datagrams (interposer/restart/sockets/sockets_begun.c)."""
    numbers: list[int]
    key: str = ""
    """Key of the connection, equal for both ends."""
    first: bool = False
    """Whether this is the end that had connected, or the first of a pair."""
    left_bytes: int = 0
    """Bytes that this end had written and the peer had not read."""
    shut: bool = False
    """Whether this end is shut down for writing."""


def born_sockets(process: Path) -> list[BornSocket]:
    """The sockets of PROCESS; the first process's file has all ends, the others' their own ends."""
    found = []
    for words in begun_sockets(process):
        if words[0] in ("end", "pair"):
            first = (words[1] == "1") == (words[0] == "end")
            size, shut, _ = map(int, words[2:5])
            numbers = list(map(int, words[6:]))
            found.append(BornSocket(words[0], numbers, words[5], first, size, bool(shut)))
        elif words[0] in ("alone", "datagrams"):
            found.append(BornSocket(words[0], list(map(int, words[1:]))))
    return found


def born_bytes(top: Path, shared: int) -> int:
    """Number of bytes in the pipe SHARED when the branch began."""
    return (top / f"shared-{shared}-was").stat().st_size


def children_before(program: Path) -> int:
    """How many children the program had made before the branch; later directories count on."""
    try:
        return int(_COUNT.unpack((program / _CHILDREN).read_bytes())[0])
    except FileNotFoundError:
        return 0
