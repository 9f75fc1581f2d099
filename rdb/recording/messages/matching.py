"""Which receive takes which message at given positions of the ranks (MPI-4.0, 3.5).

From each sender a receive takes the first message that it accepts and that no earlier posted
receive has taken.  So the order of posting and the order of sending determine the matches, except
where a receive from any source can choose among several senders.  If the log does not say what it
received, each choice is a world of its own.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rdb.recording.log.describe import ANY, PROC_NULL, mpi_name
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.wait_graph import Call
from rdb.recording.mpi.communication import Item, RankCommunication, What

RECEIVES = {"MPI_Recv": "tag", "MPI_Sendrecv": "recvtag", "MPI_Sendrecv_replace": "recvtag"}
SENDS = {
    "MPI_Send": "tag",
    "MPI_Ssend": "tag",
    "MPI_Rsend": "tag",
    "MPI_Sendrecv": "sendtag",
    "MPI_Sendrecv_replace": "sendtag",
}
"""Sends that may wait for their receiver, and the name of their tag parameter."""
_RECV = int(What.RECV)
_MOST = 4096  # worlds that are examined at most

Way = tuple[int, int]
"""The other rank, and the tag."""


@dataclass(frozen=True)
class Taker:
    """A receive, or a matched probe, in the order in which its rank posted them."""

    event: int
    source: int
    tag: int
    comm: str
    request: int
    """0: a blocking receive, pending or answered; below 0: a matched probe."""
    got: Way | None = None
    """What it received, if the log says that."""
    done: bool = False
    """It is complete at the position of its rank."""
    cancelled: bool = False
    """MPI_Cancel was called: it may take a message, and does not wait for one."""

    def accepts(self, way: Way) -> bool:
        return self.source in (ANY, way[0]) and self.tag in (ANY, way[1])


@dataclass(frozen=True)
class Outcome:
    """What the receives of a rank on a communicator take in one world."""

    taken: Mapping[int, Way]
    """Request of a receive that is not complete -> the message that it takes."""
    consumed: Mapping[Way, int]
    """How many messages are taken."""


Place = tuple[int, str]
"""The rank that receives, and the communicator."""


class World:
    """One possible matching of messages and receives."""

    def __init__(self, matching: Matching, outcomes: Mapping[Place, Outcome]) -> None:
        self._matching = matching
        self._outcomes = outcomes

    def taken(self, rank: int, comm: str, request: int) -> Way | None:
        outcome = self._outcomes.get((rank, comm))
        return outcome.taken.get(request) if outcome else None

    def taker(self, rank: int, comm: str, way: Way) -> Taker | None:
        """A receive that is not complete and takes the newest message of WAY."""
        outcome = self._outcomes.get((rank, comm))
        for request, one in (outcome.taken if outcome else {}).items():
            if one == way:
                return self._matching.takers[(rank, comm)].by_request.get(request)
        return None

    def consumed(self, rank: int, comm: str, way: Way) -> int:
        outcome = self._outcomes.get((rank, comm))
        return outcome.consumed.get(way, 0) if outcome else 0

    def waiting(self, rank: int, comm: str) -> Iterator[Way]:
        """Senders and tags of messages that no receive takes."""
        for way, sent in self._matching.sent(rank, comm).items():
            if len(sent) > self.consumed(rank, comm, way):
                yield way


@dataclass
class Takers:
    """The receives of a rank on a communicator."""

    rows: list[Taker] = field(default_factory=list)
    base: dict[Way, int] = field(default_factory=lambda: defaultdict(int))
    """How many messages were taken by receives posted before all of ROWS."""
    by_request: dict[int, Taker] = field(default_factory=dict)
    """The receives that are not complete."""


class Matching:
    """What is posted and sent at the positions AT (rank -> event); CALLS: calls without answer."""

    def __init__(
        self, messages: Messages, at: Mapping[int, int], calls: Mapping[int, Sequence[Call]]
    ):
        self._messages = messages
        self.at = at
        self._calls = calls
        self._sent: dict[Place, dict[Way, list[tuple[int, int]]]] = {}
        self.takers: dict[Place, Takers] = defaultdict(Takers)
        self.last: dict[int, dict[int, list[tuple[Item, int]]]] = {}
        """Rank -> request -> the newest operation of that request and the place of its item; a
        request that both sends and receives has two."""
        for rank in at:
            self._read(rank)

    def member(self, rank: int, comm: int, peer: int) -> int:
        """The rank of the job that is PEER on a communicator of RANK's."""
        known = self._messages.communication(rank).communicator(comm, self.at[rank])
        if known.members is not None and 0 <= peer < len(known.members):
            return known.members[peer]
        return peer

    def name(self, rank: int, comm: int) -> str:
        return self._messages.communication(rank).communicator(comm, self.at[rank]).name

    def sent(self, dest: int, comm: str) -> dict[Way, list[tuple[int, int]]]:
        """Messages to a rank by sender and tag: (event, place) of each.  A send that has no answer
        comes last, with place 0."""
        if (dest, comm) not in self._sent:
            self._sent[(dest, comm)] = self._find_sent(dest, comm)
        return self._sent[(dest, comm)]

    def _find_sent(self, dest: int, comm: str) -> dict[Way, list[tuple[int, int]]]:
        found: dict[Way, list[tuple[int, int]]] = defaultdict(list)
        for source, event in self.at.items():
            sender = self._messages.communication(source)
            for (to, on, tag), places in sender.sends.items():
                if (to, on) == (dest, comm):
                    made = [(sender.event(place), place) for place in places]
                    found[(source, tag)] += [one for one in made if one[0] <= event]
            for call in self._calls.get(source, ()):
                name = SENDS.get(call.name)
                if name is None or call.arguments["dest"] == PROC_NULL:
                    continue
                number = call.arguments["comm"]
                if self.name(source, number) == comm:
                    to = self.member(source, number, call.arguments["dest"])
                    if to == dest:
                        found[(source, call.arguments[name])].append((event + 1, 0))
        return found

    # ---- what a rank has posted ----

    def _read(self, rank: int) -> None:
        communication = self._messages.communication(rank)
        posted = _Posted(communication, self.at[rank])
        rows = posted.rows()
        for comm, base in posted.base.items():
            self.takers[(rank, comm)].base = base
        for row in rows:
            takers = self.takers[(rank, row.comm)]
            takers.rows.append(row)
            if not row.done:
                takers.by_request[row.request] = row
        self.last[rank] = posted.last
        for call in self._calls.get(rank, ()):
            name = RECEIVES.get(call.name)
            if name is None or call.arguments["source"] == PROC_NULL:
                continue
            number = call.arguments["comm"]
            source = self.member(rank, number, call.arguments["source"])
            comm = self.name(rank, number)
            row = Taker(self.at[rank] + 1, source, call.arguments[name], comm, 0)
            self.takers[(rank, comm)].rows.append(row)
            self.takers[(rank, comm)].by_request[0] = row

    # ---- worlds ----

    def worlds(self) -> tuple[list[World], bool]:
        """All worlds, and whether there are more than are examined."""
        places = [place for place, takers in self.takers.items() if takers.by_request]
        complete = [place for place in self.takers if place not in places]
        choices = [_Choices(self.takers[place], self.sent(*place)).outcomes() for place in places]
        fixed = {place: _Choices(self.takers[place], {}).outcomes()[0][0] for place in complete}
        too_many = any(more for _, more in choices)
        product = itertools.product(*(found for found, _ in choices))
        found = [
            World(self, {**fixed, **dict(zip(places, outcomes, strict=True))})
            for outcomes in itertools.islice(product, _MOST)
        ]
        return found, too_many or next(product, None) is not None


class _Posted:
    """One pass over a rank's items: receives in the order in which they were posted."""

    def __init__(self, communication: RankCommunication, event: int) -> None:
        self._communication, self._event = communication, event
        self._rows: list[Taker | None] = []
        self._pending: dict[int, int] = {}  # request -> its row
        self._prepared: dict[int, Item] = {}
        self._freed: dict[int, int] = {}  # key of a freed receive -> the request it had
        self._makers: dict[int, int] = {}  # persistent sends: the call that made them
        self._probed: list[int] = []
        self.base: dict[str, dict[Way, int]] = defaultdict(lambda: defaultdict(int))
        self.last: dict[int, list[tuple[Item, int]]] = {}

    def rows(self) -> list[Taker]:
        for place, item in self._communication.of_receives():
            if item.what == _RECV:
                item = self._communication.item(place)  # with the rank of the job
            if item.event <= self._event:
                if item.what == _RECV and not item.request and not self._rows:
                    comm = self._communication.communicator(item.comm, item.event).name
                    self.base[comm][item.peer, item.tag] += 1  # the usual case
                    continue
                self._note(place, item)
            if item.what == _RECV:
                self._received(item)
            elif item.what == What.CANCELLED:
                self._cancel(item)
            if self._rows and not self._pending and not self._probed:
                self._flush()
        return [row for row in self._rows if row is not None]

    def _cancel(self, item: Item) -> None:
        place = self._pending.get(item.request)
        row = None if place is None else self._rows[place]
        if place is None or row is None:
            return
        if item.order:  # cancelled without a message
            del self._pending[item.request]
            self._rows[place] = None
        elif item.event <= self._event:
            self._rows[place] = replace(row, cancelled=True)

    def _flush(self) -> None:
        """Counts receives that are all complete: their order no longer matters."""
        if any(row is not None and not row.done for row in self._rows):
            return
        for row in self._rows:
            if row is not None and row.got:
                self.base[row.comm][row.got] += 1
        self._rows.clear()

    def _note(self, place: int, item: Item) -> None:
        if item.what == What.PREPARED:
            self._prepared[item.request] = item
        elif item.what == What.POSTED:
            self._post(item, item.request)
        elif item.what == What.STARTED and item.request in self._prepared:
            self._post(self._prepared[item.request]._replace(event=item.event), item.request)
        elif item.what == What.MATCHED:
            self._probed.append(len(self._rows))
            self._post(item, -item.request)
        request = item.request or (item.comm if item.what == What.DONE else 0)
        if item.what == What.MADE:
            self._makers[request] = item.nr
        elif item.what == What.SEND and mpi_name(item.nr) in ("MPI_Start", "MPI_Startall"):
            item = item._replace(nr=self._makers.get(request, item.nr))
        if request and item.what not in (What.MATCHED, What.TEXT, What.FREED, What.MET):
            if item.what == What.STARTED and request in self._prepared:
                item = self._prepared[request]._replace(event=item.event, what=int(item.what))
            parts = self.last.get(request, [])
            exchange = item.what == What.SEND and parts and parts[0][0].event == item.event
            posted = exchange and parts[0][0].what == What.POSTED
            self.last[request] = [*(parts if posted else ()), (item, place)]

    def _post(self, item: Item, request: int) -> None:
        if item.peer == PROC_NULL:
            return
        before = self._pending.get(request)
        if before is not None and request > 0:  # freed, but not complete (MPI_Request_free)
            row = self._rows[before]
            assert row is not None
            key = -(1 << 40) - before
            self._rows[before] = replace(row, request=key)
            self._pending[key] = before
            self._freed[key] = request
        comm = self._communication.communicator(item.comm, item.event)
        source = item.peer
        if comm.members is not None and 0 <= item.peer < len(comm.members):
            source = comm.members[item.peer]
        self._pending[request] = len(self._rows)
        self._rows.append(Taker(item.event, source, item.tag, comm.name, request))

    def _received(self, item: Item) -> None:
        way = item.peer, item.tag
        done = item.event <= self._event
        comm = self._communication.communicator(item.comm, item.event).name
        place = self._of_request(item, comm, way)
        if place is None and (item.request or "Mrecv" in (mpi_name(item.nr) or "")):
            place = next((one for one in self._probed if self._takes(one, comm, way)), None)
            if place is not None:
                self._probed.remove(place)
                self._pending = {key: row for key, row in self._pending.items() if row != place}
        if place is not None:
            row = self._rows[place]
            assert row is not None
            self._rows[place] = replace(row, got=way, done=done)
        elif done:
            self._rows.append(Taker(item.event, *way, comm, 0, way, True))

    def _of_request(self, item: Item, comm: str, way: Way) -> int | None:
        """The receive with that request, or a freed one that had the same id.  A freed receive may
        complete in any call."""
        if not item.request:
            return None
        keys = [key for key, request in self._freed.items() if request == item.request]
        own = [item.request] if item.request in self._pending else []
        waited = (mpi_name(item.nr) or "").startswith(("MPI_Wait", "MPI_Test"))
        keys = own + keys if waited else keys + own
        key = next((key for key in keys if self._takes(self._pending[key], comm, way)), None)
        if key is None and len(keys) == 1:
            key = keys[0]
        if key is None:
            return None
        self._freed.pop(key, None)
        return self._pending.pop(key)

    def _takes(self, place: int, comm: str, way: Way) -> bool:
        row = self._rows[place]
        return row is not None and row.comm == comm and row.accepts(way)


@dataclass(frozen=True)
class _State:
    """The part of a world up to some receive."""

    taken: tuple[tuple[int, Way], ...] = ()
    consumed: tuple[tuple[Way, int], ...] = ()

    def take(self, request: int | None, way: Way) -> _State:
        counts = dict(self.consumed)
        counts[way] = counts.get(way, 0) + 1
        taken = self.taken if request is None else (*self.taken, (request, way))
        return _State(taken, tuple(sorted(counts.items())))


class _Choices:
    """The worlds of one rank and communicator."""

    def __init__(self, takers: Takers, sent: Mapping[Way, list[tuple[int, int]]]) -> None:
        self._rows, self._base, self._sent = takers.rows, takers.base, sent
        self._later: dict[Way, int] = defaultdict(int)
        """Messages that later receives have taken, as the log says."""

    def outcomes(self) -> tuple[list[Outcome], bool]:
        """The outcomes, and whether there are more."""
        states, more = self._states(strict=True)
        if not states:  # threads that post at the same time: the log's order is impossible
            states, more = self._states(strict=False)
        return [self._outcome(state) for state in states], more

    def _outcome(self, state: _State) -> Outcome:
        consumed = dict(self._base)
        for way, number in state.consumed:
            consumed[way] = consumed.get(way, 0) + number
        return Outcome(dict(state.taken), consumed)

    def _states(self, strict: bool) -> tuple[list[_State], bool]:
        self._later = defaultdict(int)
        for row in self._rows:
            if row.done and row.got:
                self._later[row.got] += 1
        states, place = {_State()}, 0
        while place < len(self._rows):
            row = self._rows[place]
            if row.done and row.got:
                self._later[row.got] -= 1
                states = {state.take(None, row.got) for state in states}
                place += 1
                continue
            alike = self._alike(place)
            if len(alike) > 1:
                together = [self._all_at_once(alike, state) for state in states]
                if None not in together:
                    states = {state for state in together if state is not None}
                    place += len(alike)
                    continue
            states = {
                state if way is None else state.take(row.request, way)
                for state in states
                for way in self._of(row, state, strict)
            }
            place += 1
            if len(states) > _MOST:
                return list(itertools.islice(states, _MOST)), True
        return list(states), False

    def _alike(self, place: int) -> list[Taker]:
        """Equal receives from any source that follow each other."""
        first = self._rows[place]
        if first.source != ANY or first.got or first.cancelled:
            return []
        return list(
            itertools.takewhile(
                lambda row: (
                    (row.source, row.tag, row.got) == (ANY, first.tag, None) and not row.cancelled
                ),
                self._rows[place:],
            )
        )

    def _all_at_once(self, rows: list[Taker], state: _State) -> _State | None:
        """The state after equal receives have taken all free messages, where it does not matter
        which receive takes which; None: they cannot be treated together."""
        consumed = dict(state.consumed)
        free: list[tuple[tuple[int, int], Way]] = []
        for way, sent in self._sent.items():
            if rows[0].accepts(way):
                if self._later[way]:
                    return None
                free += [(one, way) for one in sent[self._next(way, consumed) :]]
        if len(free) > len(rows):
            return None
        for row, (_, way) in zip(rows, sorted(free), strict=False):
            state = state.take(row.request, way)
        return state

    def _next(self, way: Way, consumed: Mapping[Way, int]) -> int:
        return self._base.get(way, 0) + consumed.get(way, 0)

    def _of(self, row: Taker, state: _State, strict: bool) -> list[Way | None]:
        """The messages that an incomplete receive may have taken; None in the list: no message."""
        consumed = dict(state.consumed)
        if row.got:
            here = self._next(row.got, consumed) < len(self._sent.get(row.got, ()))
            return [row.got if here else None]
        first: dict[int, tuple[tuple[int, int], Way]] = {}  # by sender
        for way, sent in self._sent.items():
            number = self._next(way, consumed)
            if row.accepts(way) and number < len(sent):
                here_too = (sent[number], way)
                first[way[0]] = min(first.get(way[0], here_too), here_too)
        found: list[Way | None] = [
            way
            for _, way in first.values()
            if self._next(way, consumed) + self._later[way] < len(self._sent[way])
        ]
        if row.cancelled:
            return [*found, None]
        if found:
            return found
        refused = strict and any(n and row.accepts(way) for way, n in self._later.items())
        return [] if refused else [None]
