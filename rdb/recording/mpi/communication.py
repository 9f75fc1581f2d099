"""Messages and collectives of one rank, from its log alone.

items.py reads the log.
"""

from __future__ import annotations

import itertools
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from rdb.recording.log.describe import mpi_name
from rdb.recording.log.record import Receive
from rdb.recording.mpi.collectives import (
    collectives,
    file_collectives,
    meetings,
    nonblocking,
    window_calls,
)
from rdb.recording.mpi.epochs import Epochs
from rdb.recording.mpi.items import (
    COMM_ID,
    EVENT,
    ITEM,
    NR,
    ORDER,
    PEER,
    REQUEST,
    SIZE,
    TAG,
    WHAT,
    Item,
    What,
    column,
    read_items,
)
from rdb.recording.mpi.locks import Locks, lock_calls

_BEGUN = "mpi-begun"  # what a branch began with: interposer/mpi/lower/restart/restart_journal.c
_SEND = re.compile(r"send peer=(-?\d+) tag=(\d+) comm=(\d+) bytes=(\d+)")
_GOING = re.compile(r"collective request=(\d+) comm=(\d+)")
_FIRST_DYNAMIC = 256  # RDB_FIRST_DYNAMIC in interposer/mpi/handles.h
_WORLD, _SELF = 2, 3  # ids of the predefined communicators
_GROUP = re.compile(r"group=(\d+) ranks=([-\d,]*)\Z")
_NEIGHBORS = re.compile(r"neighbors=(\d+) ranks=([-\d,]*)\Z")
_EPOCH = re.compile(r"win=(\d+) (post|start) ranks=([-\d,]*)\Z")
_COMM = re.compile(r"comm=(\d+) context=(-?\d+) by=(\S*) rank=(-?\d+) ranks=([-\d,]*)")

Channel = tuple[int, str, int]
"""The other rank, the communicator by a name that all ranks share, the tag."""


@dataclass(frozen=True)
class Communicator:
    """A communicator, window or file as one rank knows it."""

    name: str
    """The same name in all its ranks."""
    members: tuple[int, ...] | None
    """Ranks of the job, in the communicator's order; of an intercommunicator the remote group.
    None: all ranks that have a communicator of that name."""
    inter: bool = False


_CALL = int(What.CALL)
_MESSAGES = (int(What.SEND), int(What.RECV), int(What.PROBED))
_OF_RECEIVES = frozenset({What.POSTED, What.PREPARED, What.STARTED})
WORLD = Communicator("MPI_COMM_WORLD", None)


@cache
def _nonblocking() -> frozenset[int]:
    """Hypercall numbers of nonblocking collectives."""
    return frozenset(nr for nr, (name, _) in collectives().items() if nonblocking(name))


@cache
def _without_large_counts() -> dict[int, int]:
    """Hypercall number of each collective `MPI_X_c` -> that of `MPI_X`."""
    numbers = {name: nr for nr, (name, _) in collectives().items()}
    return {nr: numbers[name[:-2]] for name, nr in numbers.items() if name.endswith("_c")}


def _places() -> array[int]:
    return array("Q")


class RankCommunication:
    """One rank's messages by channel and its collectives by communicator, in MPI's order.

    A message is named by the place of its item (`item`).
    """

    def __init__(self, path: Path, world_first: int = 0, rank: int | None = None) -> None:
        """WORLD_FIRST: rank of the job that is rank 0 of this process's MPI_COMM_WORLD; not 0 for
        processes that the program spawned.  RANK: this process's rank of the job."""
        self._path = path
        self._world_first, self._own = world_first, rank
        # Spawned processes have a world of their own.
        self._world = (
            Communicator(f"{WORLD.name} of {world_first}...", None) if world_first else WORLD
        )
        self._view = self._read()
        self.count: int = len(self._view) // ITEM.size
        self._events = self._column(EVENT, "Q")
        self.sends: dict[Channel, array[int]] = defaultdict(_places)
        self.receives: dict[Channel, array[int]] = defaultdict(_places)
        self.collectives: dict[str, array[int]] = defaultdict(_places)
        self.probed: dict[Channel, array[int]] = defaultdict(_places)
        self.posted = array("Q")
        self.completed: dict[tuple[str, int], int] = {}
        """(communicator, number of the nonblocking collective on it) -> event that completed it."""
        self.born: dict[str, tuple[int, str]] = {}
        """Name of a communicator -> the event and the call that made it."""
        self.epochs: dict[str, Epochs] = defaultdict(Epochs)
        """Name of a window -> its epochs."""
        self.locks: dict[str, Locks] = defaultdict(Locks)
        self._windows: dict[int, str] = {}
        self.on_files: dict[str, array[int]] = defaultdict(_places)
        """Name of a file -> places of the collective calls on it."""
        self.files: set[str] = set()
        self.met: dict[tuple[object, ...], list[int]] = defaultdict(list)
        """(call, name of the communicator, window or file, what else the ranks agree in) -> events
        of meetings, frees and nonblocking collectives on files."""
        self._groups: dict[int, list[tuple[int, tuple[int, ...]]]] = defaultdict(list)
        self.neighbors: dict[str, tuple[int, ...]] = {}
        """Name of a communicator -> the neighbours from which this rank gets data."""
        self._files: dict[int, list[tuple[int, Communicator]]] = defaultdict(list)
        self.communicators: dict[str, Communicator] = {self._world.name: self._world}
        self._ids: dict[int, list[tuple[int, Communicator]]] = defaultdict(list)
        self._sent_before: list[Item] = []
        """Messages that were under way when a branch began, as if sent at event 0.  Their places
        follow those of the log."""
        self._sort()

    def __getstate__(self) -> dict[str, object]:
        """Another process gets the items as bytes, and needs no log."""
        return {**self.__dict__, "_view": bytes(self._view), "_events": None, "_keep": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._view = memoryview(state["_view"])
        self._events = self._column(EVENT, "Q")

    def _read(self) -> memoryview:
        """All items of the log."""
        view, self._keep = read_items(self._path, calls=True)
        return view

    def _column(self, offset: int, code: str) -> memoryview:
        return column(self._view, offset, code)

    def item(self, place: int) -> Item:
        if place >= self.count:
            return self._sent_before[place - self.count]
        raw = ITEM.unpack_from(self._view, place * ITEM.size)
        if raw[10] in _MESSAGES:
            return Item._make((*raw[:5], self._rank(raw[5]), *raw[6:]))
        return Item._make(raw)

    def items(self) -> Iterator[Item]:
        return map(Item._make, ITEM.iter_unpack(self._view))

    def of_receives(self) -> Iterator[tuple[int, Item]]:
        """Items with their places, without sends and collectives that made no request (most
        items)."""
        whats, requests = self._column(WHAT, "I"), self._column(REQUEST, "I")
        told = (_CALL, int(What.SEND))
        for place, (what, request) in enumerate(zip(whats, requests, strict=True)):
            if request or what not in told:
                yield place, Item._make(ITEM.unpack_from(self._view, place * ITEM.size))

    def posting(self, last: int) -> Iterator[Item]:
        """Items up to event LAST that post a receive, or end one that has a request."""
        end = bisect_right(self._events, last)
        whats, requests = self._column(WHAT, "I")[:end], self._column(REQUEST, "I")[:end]
        ends = (int(What.RECV), int(What.CANCELLED))
        for place, (what, request) in enumerate(zip(whats, requests, strict=True)):
            if (request and what in ends) or what in _OF_RECEIVES:
                yield self.item(place)

    def events(self, places: array[int]) -> list[int]:
        known, count = self._events, self.count
        return [known[one] if one < count else self.event(one) for one in places]

    def sizes(self, places: array[int]) -> list[int]:
        """Bytes of receives of the log."""
        known = self._column(SIZE, "Q")
        return [known[one] for one in places]

    def event(self, place: int) -> int:
        if place >= self.count:
            return self._sent_before[place - self.count].event
        return int(self._events[place])

    def ordinal(self, place: int) -> int:
        """Index of a send among the sends of its event."""
        if place >= self.count:
            return place - self.count
        event, before = self.event(place), 0
        while place > 0 and self.event(place - 1) == event:
            place -= 1
            before += self.item(place).what == What.SEND  # receives that it posted are between
        return before

    def unfinished(self) -> list[int]:
        """Places of nonblocking collectives that the rank never completed."""
        later, nrs = _nonblocking(), self._column(NR, "I")
        return [
            place
            for name, places in self.collectives.items()
            for number, place in enumerate(places)
            if nrs[place] in later and (name, number) not in self.completed
        ]

    def calls(self, name: str) -> Iterator[tuple[int, int, int | None]]:
        """For each collective on that communicator: hypercall number, root (on a window: the
        assertion), and the event that completed it (None: it was not completed)."""
        later, nrs, peers = _nonblocking(), self._column(NR, "I"), self._column(PEER, "i")
        for number, place in enumerate(self.collectives[name]):
            nr = nrs[place]
            complete = self.completed.get((name, number)) if nr in later else self._events[place]
            yield nr, peers[place], complete

    def procedures(self, name: str) -> array[int]:
        """Hypercall number of each collective on that communicator, without large counts."""
        nrs, plain = self._column(NR, "I"), _without_large_counts()
        return array("I", [plain.get(nrs[place], nrs[place]) for place in self.collectives[name]])

    def window(self, number: int) -> Communicator | None:
        """The newest window with that id."""
        return self.communicators.get(self._windows.get(number, ""))

    def file(self, number: int, event: int) -> Communicator | None:
        """The file that an id named at an event."""
        known = [one for since, one in self._files[number] if since <= event]
        return known[-1] if known else None

    def communicator(self, number: int, event: int | None = None) -> Communicator:
        """The communicator that an id named at an event (None: at the end)."""
        if number == _WORLD:
            return self._world
        if number < _FIRST_DYNAMIC:
            return Communicator(f"predefined {number}", ())
        for since, known in reversed(self._ids[number]):
            if event is None or since <= event:
                return known
        return Communicator(f"unknown {number}", ())

    def _sort(self) -> None:
        names: dict[int, str] = {_WORLD: self._world.name}
        later = _nonblocking()
        making = {nr for nr, (name, _) in collectives().items() if name.startswith("MPI_Win_")}
        opening = {nr for nr, (name, _) in collectives().items() if name == "MPI_File_open"}
        on_windows, locking, on_files = window_calls(), lock_calls(), file_collectives()
        made: dict[str, int] = defaultdict(int)
        going: dict[int, tuple[str, int]] = {}  # request -> nonblocking collective
        self._begin(names, made, going)
        usual = collectives().keys() - later - making - opening - on_windows.keys()
        usual -= locking.keys() | on_files.keys()
        whats, comms, nrs = (self._column(one, "I") for one in (WHAT, COMM_ID, NR))
        peers, tags = (self._column(one, "i") for one in (PEER, TAG))
        messages = dict(zip(_MESSAGES, (self.sends, self.receives, self.probed), strict=True))
        ways: dict[tuple[int, int, int, int], array[int]] = {}  # until a communicator is made
        rows = zip(whats, comms, nrs, peers, tags, strict=True)
        for place, (what, comm, nr, peer, tag) in enumerate(rows):
            if what in messages:
                way = ways.get((what, comm, peer, tag))
                if way is None:
                    if comm not in names:
                        names[comm] = self.communicator(comm).name
                    way = messages[what][(self._rank(peer), names[comm], tag)]
                    ways[what, comm, peer, tag] = way
                way.append(place)
                continue
            if nr in usual and what == _CALL and comm in names:  # the most frequent case
                if comm != _SELF:
                    self.collectives[names[comm]].append(place)
                continue
            raw = ITEM.unpack_from(self._view, place * ITEM.size)
            if what == What.TEXT:
                self._learn(Item._make(raw), names, made)
                ways.clear()
                continue
            if what in (What.CANCELLED, What.MATCHED):
                continue
            if what == What.FREED:
                self._free(Item._make(raw))
                continue
            if what == What.MET:
                self._meet(Item._make(raw))
                continue
            if what == What.MADE:
                if file := self.file(comm, raw[0]):
                    self.met[(mpi_name(nr) or "", file.name)].append(raw[0])
                continue
            if what == What.DONE:
                if raw[8] in going:
                    self.completed[going.pop(raw[8])] = raw[0]
                continue
            if what == What.CALL and raw[9] in on_windows:
                self._call_on_window(place, Item._make(raw))
                continue
            if what == What.CALL and raw[9] in on_files:
                file = self.file(comm, raw[0])
                if file is not None:
                    self.on_files[file.name].append(place)
                continue
            if what == What.CALL and raw[9] in locking:
                locks = self.locks[self._windows.get(comm, "")]
                locks.add(locking[raw[9]], raw[0], raw[1], raw[5], raw[6], raw[2])
                continue
            name = names.get(comm)
            if name is None:
                name = names[comm] = self.communicator(comm).name
            if what == What.CALL:
                if comm != _SELF:
                    if raw[8] and raw[9] in later:
                        going[raw[8]] = (name, len(self.collectives[name]))
                    self.collectives[name].append(place)
                    if raw[9] in making:
                        self._make_window(raw[8], name)
                    if raw[9] in opening and raw[8]:
                        made_of = self.communicators.get(name, self._world)
                        title = f"file {len(self.collectives[name])} of {name}"
                        self.files.add(title)
                        self._files[raw[8]].append((raw[0], replace(made_of, name=title)))
            elif what == What.POSTED:
                self.posted.append(place)
        for channel, places in self.receives.items():
            self.receives[channel] = self._in_order(places)

    def _make_window(self, number: int, comm: str) -> None:
        """Names a window by its number: all ranks of a communicator make windows in one order."""
        name = f"window {len(self.collectives[comm])} of {comm}"
        self._windows[number] = name
        known = self.communicators.get(comm)
        if known is not None:
            self.communicators[name] = replace(known, name=name)

    def _call_on_window(self, place: int, item: Item) -> None:
        name = self._windows.get(item.comm, "")
        if window_calls()[item.nr] == "MPI_Win_complete":
            self.epochs[name].completes.append(item.event)
        elif window_calls()[item.nr] == "MPI_Win_wait":
            self.epochs[name].waits.append(item.event)
        else:
            self.collectives[name].append(place)

    def _free(self, item: Item) -> None:
        name = mpi_name(item.nr) or ""
        if name == "MPI_File_close":
            file = self.file(item.request, item.event)
            if file is not None:
                self.met[(name, file.name)].append(item.event)
        elif name == "MPI_Win_free":
            self.met[(name, self._windows.get(item.request, ""))].append(item.event)
        else:
            comm = self.communicator(item.request, item.event)
            self.met[(name, comm.name)].append(item.event)

    def _meet(self, item: Item) -> None:
        name, comm = meetings()[item.nr], self.communicator(item.comm, item.event)
        of = item.size_bytes & 0xFFFFFFFF
        if name == "MPI_Comm_create_group":
            group = self.group(of, item.event)
            self.met[(name, comm.name, item.tag, group)].append(item.event)
            return
        self.met[(name, comm.name)].append(item.event)
        if name == "MPI_Intercomm_create":
            peers = self.communicator(of, item.event)
            self.met[(name, peers.name, item.peer, item.tag)].append(item.event)

    def group(self, number: int, event: int) -> tuple[int, ...] | None:
        """The ranks of the group that an id named at an event; None: not known."""
        known = [ranks for since, ranks in self._groups[number] if since <= event]
        return known[-1] if known else None

    def numbered(self, received: Receive) -> tuple[Channel, int]:
        """The channel of a message that was received, and its number there, from 0."""
        comm = self.communicator(received.comm, received.event)
        channel = (self._rank(received.source), comm.name, received.tag)
        orders = [self.item(place).order for place in self.receives.get(channel, ())]
        return channel, bisect_left(orders, received.order)

    def rank_of(self, peer: int) -> int:
        """The rank of the job; -1: not known."""
        return self._rank(peer)

    def _rank(self, peer: int) -> int:
        """The rank of the job; -1: not known (interposer/mpi/lower/objects/worlds.h)."""
        return peer + self._world_first if peer >= 0 else max(-2 - peer, -1)

    def _in_order(self, places: array[int]) -> array[int]:
        """Receives in the order of posting, which mostly is the order of completion."""
        known = self._column(ORDER, "Q")
        orders = [known[place] for place in places]
        if all(first <= second for first, second in itertools.pairwise(orders)):
            return places
        return array("Q", [place for _, place in sorted(zip(orders, places, strict=True))])

    def _learn(self, item: Item, names: dict[int, str], made: dict[str, int]) -> None:
        """Reads a text note: a new communicator, group or epoch, or neighbours."""
        text = self._text(item)
        made_group = _GROUP.match(text)
        if made_group is not None:
            ranks = tuple(self._rank(int(word)) for word in made_group[2].split(",") if word)
            self._groups[int(made_group[1])].append((item.event, ranks))
            return
        epoch = _EPOCH.match(text)
        if epoch is not None:
            group = tuple(self._rank(int(word)) for word in epoch[3].split(",") if word)
            epochs = self.epochs[self._windows.get(int(epoch[1]), "")]
            (epochs.posts if epoch[2] == "post" else epochs.starts).append((item.event, group))
            return
        self._name(text, item.event, names, made)
        self._learn_neighbors(text, names)

    def _learn_neighbors(self, text: str, names: Mapping[int, str]) -> None:
        found = _NEIGHBORS.match(text)
        if found is not None:
            ranks = tuple(self._rank(int(word)) for word in found[2].split(",") if word)
            self.neighbors[names[int(found[1])]] = ranks

    def _text(self, item: Item) -> str:
        with (self._path / f"log-{item.order:06}.seg").open("rb") as file:
            file.seek(item.address)
            return file.read(item.size_bytes).decode(errors="replace")

    def begun_with(self) -> list[str]:
        """Lines with the MPI objects and messages that a branch began with; empty: no branch."""
        try:
            return (self._path / _BEGUN).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []

    def _begin(
        self, names: dict[int, str], made: dict[str, int], going: dict[int, tuple[str, int]]
    ) -> None:
        lines = self.begun_with()
        pending: dict[str, int] = defaultdict(int)
        freed = ""
        for line in lines:
            if line.startswith("freed "):  # the freed communicator of the message in the next line
                text = line.removeprefix("freed ")
                was = _COMM.match(text)
                assert was is not None
                freed = self._communicator(was, text, defaultdict(int)).name
                continue
            self._name(line, 0, names, made)
            self._learn_neighbors(line, names)
            if sent := _SEND.match(line):
                peer, tag, comm, size_bytes = map(int, sent.groups())
                place = self.count + len(self._sent_before)
                self._sent_before.append(
                    Item(0, 0, size_bytes, 0, 0, self._rank(peer), tag, comm, 0, 0, int(What.SEND))
                )
                name = freed or names.get(comm) or self.communicator(comm).name
                self.sends[(self._rank(peer), name, tag)].append(place)
                freed = ""
            elif begun := _GOING.match(line):
                request, comm = map(int, begun.groups())
                name = names.get(comm) or self.communicator(comm).name
                pending[name] -= 1  # numbers below 0: before those of the log
                going[request] = (name, pending[name])

    def _name(self, text: str, event: int, names: dict[int, str], made: dict[str, int]) -> None:
        found = _COMM.match(text)
        if found is None:
            return
        known = self._communicator(found, text, made)
        names[int(found[1])] = known.name
        self.communicators[known.name] = known
        self.born[known.name] = (event, found[3])
        self._ids[int(found[1])].append((event, known))

    def _communicator(self, found: re.Match[str], text: str, made: dict[str, int]) -> Communicator:
        members = tuple(self._rank(int(word)) for word in found[5].split(",") if word)
        own = int(found[4])
        # The members of an intercommunicator are the remote group, without the rank itself.
        inter = "Intercomm_create" in found[3] or not 0 <= own < len(members)
        inter = inter or (self._own is not None and members[own] != self._own)
        whole = not text.endswith("...")
        context = _context(int(found[2]))
        basis = f"context {context}" if inter else f"context {context} of {members}"
        made[basis] += 1
        # Two parts of a split may have the same context, and so may a freed communicator.
        name = f"context {context}" if inter else f"context {context} of {_spans(members, whole)}"
        if made[basis] > 1:
            name += f" (#{made[basis]})"
        return Communicator(name, members if whole else None, inter)


def _context(number: int) -> str:
    """Text of a context number, which is made of a number of communicators and a rank."""
    if number >> 24 == 0:
        return str(number)
    return f"{number:x}" if number >> 62 else f"{number >> 24}.{number & 0xFFFFFF}"


def _spans(ranks: tuple[int, ...], whole: bool) -> str:
    """`0-3,8`: ranks in their order, runs shortened."""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], rank]
        else:
            parts.append([rank])
    text = ",".join("-".join(map(str, part)) for part in parts)
    return text if whole else f"{text},..."


__all__ = [
    "WORLD",
    "Channel",
    "Communicator",
    "Item",
    "RankCommunication",
    "What",
]
