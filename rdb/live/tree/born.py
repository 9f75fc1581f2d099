"""What a branch with several processes began with, for restarts of it.

The files are those of interposer/restart/tree_born.h.
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
    """A process that was there: the first one, its children, theirs, in this order."""

    parent: int
    """Which of them; -1: the first has none of these."""
    child: int
    """N of its directory, child-N."""
    lives: bool
    """False: it has ended, and was not waited for."""
    status: int
    told: bool
    """Its parent had got SIGCHLD for it."""
    orphan: bool = False
    """It had outlived its parent: it is that process's for its recording alone."""


@dataclass(frozen=True, slots=True)
class BornPid:
    """As the program knows it, with its group and session (0: those of the first)."""

    pid: int
    group: int
    session: int


@dataclass(frozen=True, slots=True)
class BornNumber:
    """An open descriptor."""

    number: int
    cloexec: bool
    kind: str
    """As interposer/restart/tree_born.c names it."""
    shared: int
    """By several processes: which; 0: by none."""
    index: int
    """Both ends of a pipe of one process have one."""
    size_bytes: int
    """Of what was in the pipe."""

    @property
    def pipe(self) -> bool:
        return self.kind in ("reads", "writes")


def is_born(top: Path) -> bool:
    """Is it a branch that began with several processes?"""
    return (top / _NUMBERS).exists()


def write_born(folder: Path, nodes: Sequence[BornNode]) -> None:
    with open(folder / "nodes", "x", encoding="ascii", opener=opener) as file:
        json.dump([asdict(one) for one in nodes], file)


def read_born(top: Path) -> list[tuple[BornNode, BornPid]] | None:
    """None: it is a branch that an older rdb has made."""
    try:
        nodes = [BornNode(**one) for one in json.loads((top / _NODES).read_text(encoding="ascii"))]
        pids = (top / _PIDS).read_bytes()
    except OSError:
        return None
    entries = [
        BornPid(known, group, session)
        for known, _, _, group, session in PID_ENTRY.iter_unpack(pids)
    ]
    return list(zip(nodes, entries, strict=False))  # those that are of the past come last


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
    """An end of a connection, or a socket without another end."""

    kind: str
    """As interposer/restart/sockets_begun.c names it: end, pair, alone, datagrams."""
    numbers: list[int]
    key: str = ""
    """Of a connection: both ends have it."""
    first: bool = False
    """Which end: the one that had connected, or the first of a pair."""
    left_bytes: int = 0
    """Written by it, and not read."""
    shut: bool = False
    """It writes no more."""


def born_sockets(process: Path) -> list[BornSocket]:
    """The first process knows of all ends; the others of those that they have."""
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
    """In that pipe, when the branch began."""
    return (top / f"shared-{shared}-was").stat().st_size


def children_before(program: Path) -> int:
    """How many it had made when the branch began: its directories of later ones are numbered on."""
    try:
        return int(_COUNT.unpack((program / _CHILDREN).read_bytes())[0])
    except FileNotFoundError:
        return 0
