"""Programs for mpi_player.py whose ranks' operations fit together, but for a few that were changed.

Programs of operations chosen by each rank alone end in their first or second call; these come far.
"""

from __future__ import annotations

import random

from mpi_player import BACK, DUP, FREED, WIN, WORLD, Op, Program
from mpi_player_kinds import BCAST, CART, CLOSED, FILE, GATHER, INTER, MERGED, SCAN, remote

_KINDS = ["message", "exchange", "collective", "locks", "epochs", "parts", "generalized", "waits"]
_WEIGHTS = (8, 2, 4, 4, 1, 2, 0.5, 3)


def matched_program(chance: random.Random) -> Program:
    made = _Maker(chance, chance.randint(2, 5))
    for _ in range(chance.randint(2, 9)):
        getattr(made, chance.choices(_KINDS, _WEIGHTS)[0])()
    made.end()
    for _ in range(chance.choices((0, 1, 2, 3), (1, 4, 3, 2))[0]):
        _change(chance, made.ops[chance.randrange(made.size)])
    return made.ops


def _change(chance: random.Random, ops: list[Op]) -> None:
    if not ops:
        return
    place = chance.randrange(len(ops))
    how = chance.choice(("left out", "moved", "swapped", "tag"))
    if how == "left out":
        del ops[place]
    elif how == "moved":
        ops.insert(chance.randrange(len(ops)), ops.pop(place))
    elif how == "swapped" and place:
        ops[place - 1 : place + 1] = [ops[place], ops[place - 1]]
    elif ops[place][0] == "recv":
        kind, source, tag, comm, name = ops[place]
        ops[place] = (kind, source, 1 - tag if tag >= 0 else tag, comm, name)


class _Maker:
    def __init__(self, chance: random.Random, size: int) -> None:
        self.chance, self.size = chance, size
        self.ops: Program = [[] for _ in range(size)]
        self._names = [0] * size
        self._pending: list[list[int]] = [[] for _ in range(size)]

        self._locked: list[list[Op]] = [[] for _ in range(size)]

    def _name(self, rank: int) -> int:
        self._names[rank] += 1
        self._pending[rank].append(self._names[rank] - 1)
        return self._names[rank] - 1

    def _two(self) -> list[int]:
        return self.chance.sample(range(self.size), 2)

    def _as(self, rank: int, other: int, comm: int) -> int:
        """What a rank is to another on a communicator."""
        if comm == INTER:
            return remote(self.size, other).index(rank)
        return self.size - 1 - rank if comm == BACK else rank

    def _send(self, rank: int, other: int, tag: int, comm: int) -> None:
        mode = self.chance.choices("nsb", (6, 2, 1))[0]
        big = mode != "b" and self.chance.random() < 0.4
        way = (mode, self._as(other, rank, comm), tag, comm, big)
        how = self.chance.random()
        if how < 0.5:
            self.ops[rank].append(("send", *way, -1))
        elif how < 0.8:
            self.ops[rank].append(("send", *way, self._name(rank)))
        else:
            name = self._name(rank)
            self.ops[rank] += [("sinit", *way, name), ("start", name)]

    def _receive(self, rank: int, other: int, tag: int, comm: int) -> None:
        source = -1 if self.chance.random() < 0.3 else self._as(other, rank, comm)
        wanted = -1 if self.chance.random() < 0.2 else tag
        how = self.chance.random()
        if how < 0.4:
            self.ops[rank].append(("recv", source, wanted, comm, -1))
        elif how < 0.7:
            self.ops[rank].append(("recv", source, wanted, comm, self._name(rank)))
        elif how < 0.8:
            name = self._name(rank)
            self.ops[rank] += [("rinit", source, wanted, comm, name), ("start", name)]
        elif how < 0.9:
            self.ops[rank] += [("probe", source, wanted, comm), ("recv", source, wanted, comm, -1)]
        else:
            self.ops[rank] += [("mprobe", source, wanted, comm), ("mrecv",)]

    def message(self) -> None:
        source, dest = self._two()
        comms = [WORLD, DUP, BACK] + ([INTER] if (source - dest) % 2 else [])
        comm, tag = self.chance.choice(comms), self.chance.randrange(2)
        self._send(source, dest, tag, comm)
        self._receive(dest, source, tag, comm)

    def exchange(self) -> None:
        one, other = self._two()
        for rank, there in ((one, other), (other, one)):
            self.ops[rank].append(("sendrecv", there, 0, there, 0, WORLD))

    def collective(self) -> None:
        kind = self.chance.choice(("barrier", "later", "rooted", "irooted", "ifile"))
        comm = self.chance.choice((WORLD, DUP, BACK, WIN))
        some = self.chance.choice((BCAST, GATHER, SCAN, CART, INTER))
        if kind == "rooted" and self.chance.random() < 0.3:
            some = FILE
        for rank in range(self.size):
            if kind == "barrier":
                self.ops[rank].append(("barrier", comm))
            elif kind == "later":
                self.ops[rank].append(("ibarrier", BACK, self._name(rank)))
            elif kind == "rooted":
                self.ops[rank].append(("rooted", some))
            elif kind == "irooted":
                self.ops[rank].append(("irooted", some, self._name(rank)))
            else:
                self.ops[rank].append(("ifile", self._name(rank)))

    def locks(self) -> None:
        rank = self.chance.randrange(self.size)
        if self._locked[rank]:
            _, target, exclusive = self._locked[rank].pop()
            self.ops[rank].append(("unlock", target, exclusive))
            return
        target = self.chance.choice((-1, 0, 0, 0, 1))
        exclusive = target >= 0 and self.chance.random() < 0.5
        self._locked[rank].append(("lock", target, exclusive))
        self.ops[rank].append(("lock", target, exclusive))
        if self.chance.random() < 0.4:
            self.ops[rank].append(("flush", target, exclusive))

    def epochs(self) -> None:
        one, other = self._two()
        self.ops[one] += [("post", [other]), ("winwait", [other])]
        self.ops[other] += [("winstart", [one]), ("complete",)]

    def parts(self) -> None:
        one, other = self._two()
        tag = self.chance.randrange(2)
        for rank, sends in ((one, True), (other, False)):
            name = self._name(rank)
            there = other if sends else one
            self.ops[rank] += [("parts", sends, there, tag, name), ("start", name)]
            if sends:
                self.ops[rank] += [("ready", part, name) for part in range(2)]

    def generalized(self) -> None:
        rank = self.chance.randrange(self.size)
        name = self._name(rank)
        self.ops[rank] += [("generalized", name), ("completes", name)]

    def waits(self) -> None:
        for rank in range(self.size):
            if self.chance.random() < 0.7:
                self._wait(rank)

    def _wait(self, rank: int) -> None:
        names = self._pending[rank]
        if not names:
            return
        some = self.chance.sample(names, self.chance.randint(1, len(names)))
        kind = self.chance.choices(("wait", "waitany", "poll", "start"), (6, 3, 1, 1))[0]
        if kind in ("poll", "start"):
            self.ops[rank].append((kind, some[0]))
        else:
            self.ops[rank].append((kind, some))
        if kind == "wait" and self.chance.random() < 0.7:
            self._pending[rank] = [name for name in names if name not in some]

    def end(self) -> None:
        for rank in range(self.size):
            if self._pending[rank] and self.chance.random() < 0.8:
                self.ops[rank].append(("wait", list(self._pending[rank])))
            for _, target, exclusive in self._locked[rank]:
                if self.chance.random() < 0.8:
                    self.ops[rank].append(("unlock", target, exclusive))
        last = self.chance.choices((None, FREED, CLOSED, MERGED), (6, 1, 1, 1))[0]
        for rank in range(self.size) if last else ():
            self.ops[rank].append(("barrier", last))
