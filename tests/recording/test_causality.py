"""What happened before what, which messages are on their way, and who waits for whom."""

from __future__ import annotations

import json
import random
from array import array
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from conftest import PROGRAMS
from jobstore import RANKS, Store

from rdb.recording.messages.clocks import Clocks
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.queues import queues
from rdb.recording.messages.wait_graph import Call
from rdb.recording.messages.waiting import wait_for
from rdb.recording.mpi.collectives import Flow, collectives
from rdb.recording.mpi.communication import WORLD, Item, RankCommunication, What


def line_of(source: str, comment: str) -> int:
    lines = (PROGRAMS / "mpi" / source).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if f"/* {comment} */" in line)


# Clocks.


class _Rank:
    """A rank's communication, made up."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.sends: dict[Any, array[int]] = defaultdict(lambda: array("Q"))
        self.receives: dict[Any, array[int]] = defaultdict(lambda: array("Q"))
        self.collectives: dict[str, array[int]] = defaultdict(lambda: array("Q"))
        self.communicators = {WORLD.name: WORLD}
        self.epochs: dict[str, Any] = {}
        self.locks: dict[str, Any] = {}
        self.probed: dict[Any, array[int]] = defaultdict(lambda: array("Q"))
        self.posted = self.last = 0

    def add(self, event: int, what: What, peer: int, tag: int = 0, nr: int = 0) -> None:
        place, order = len(self.items), self.posted + 1
        self.posted += what is What.RECV
        self.items.append(Item(event, event, 8, order, 0, peer, tag, 2, 0, nr, what))
        if what is What.CALL:
            self.collectives[WORLD.name].append(place)
        else:
            ways = {What.SEND: self.sends, What.RECV: self.receives, What.PROBED: self.probed}[what]
            ways[(peer, WORLD.name, tag)].append(place)

    def item(self, place: int) -> Item:
        return self.items[place]

    def event(self, place: int) -> int:
        return self.items[place].event

    def calls(self, name: str) -> Iterator[tuple[int, int, int | None]]:
        for place in self.collectives[name]:
            yield self.items[place].nr, self.items[place].peer, self.items[place].event


def _random_job(seed: int, ranks: int) -> tuple[list[_Rank], list[list[list[int]]]]:
    """A job, and the full vector clock of each rank after each of its events: the plain way."""
    chance = random.Random(seed)
    made = [_Rank() for _ in range(ranks)]
    clocks = [[[-1] * ranks] for _ in range(ranks)]
    for rank in range(ranks):
        clocks[rank][0][rank] = 0
    flying: dict[tuple[int, int, int], list[list[int]]] = defaultdict(list)
    kinds = {flow: nr for nr, (name, flow) in collectives().items() if name in _NAMES}

    def event(rank: int, *known: list[int]) -> int:
        clock = [max(values) for values in zip(clocks[rank][-1], *known, strict=True)]
        clock[rank] = made[rank].last = made[rank].last + 1
        clocks[rank].append(clock)
        return made[rank].last

    for _ in range(60):
        if chance.random() < 0.1:
            flow, root = chance.choice(list(kinds)), chance.randrange(ranks)
            before = [clocks[rank][-1] for rank in range(ranks)]
            for rank in range(ranks):
                sources = {
                    Flow.ALL: range(ranks),
                    Flow.FROM_ROOT: [root],
                    Flow.TO_ROOT: range(ranks) if rank == root else [],
                    Flow.UPWARDS: range(rank),
                }[flow]
                number = event(rank, *(before[source] for source in sources))
                made[rank].add(number, What.CALL, root, nr=kinds[flow])
            continue
        rank, tag = chance.randrange(ranks), chance.randrange(2)
        ready = [key for key, queue in flying.items() if queue and key[1] == rank]
        if ready and chance.random() < 0.7:
            source, _, tag = key = chance.choice(ready)
            if chance.random() < 0.3:
                made[rank].add(event(rank, flying[key][0]), What.PROBED, source, tag)
                continue
            made[rank].add(event(rank, flying[key].pop(0)), What.RECV, source, tag)
        else:
            dest = chance.randrange(ranks)
            flying[(rank, dest, tag)].append(clocks[rank][-1])
            made[rank].add(event(rank), What.SEND, dest, tag)
    return made, clocks


_NAMES = ("MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Scan")


@pytest.mark.parametrize("seed", range(8))
def test_clocks_are_those_of_the_plain_algorithm(seed: int) -> None:
    ranks = 2 + seed % 4
    made, expected = _random_job(seed, ranks)
    messages = Messages(cast(Any, SimpleNamespace(ranks=list(range(ranks)))))
    messages._communications.update(enumerate(made))  # type: ignore[arg-type]
    clocks = Clocks(messages)
    for rank in range(ranks):
        for event, clock in enumerate(expected[rank]):
            past = clocks.past(rank, event)
            assert [past.get(other, -1) for other in range(ranks)] == clock, (rank, event)


def test_the_same_send_many_times_is_many_messages(store: Store) -> None:
    """The log holds one record of them, which is repeated."""
    job = store.job("causal")
    messages = Messages(job)
    receiver = job.rank(1)
    received = [one for e in range(receiver.last_event) for one in receiver.receives(e)]
    sends = [messages.sent_as(1, one) for one in received]
    assert [send.event - sends[0].event for send in sends] == list(range(5))
    assert job.rank(0).event(sends[0].event).repeat == 4


def test_the_last_receive_is_the_same_however_far_back_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank = store.job("causal").rank(1)
    near = [rank.last_receive(event) for event in range(rank.last_event + 1)]
    assert len(set(near)) > 2, near
    monkeypatch.setattr("rdb.recording.rank._NEAR_RECORDS", 0)
    assert [rank.last_receive(event) for event in range(rank.last_event + 1)] == near


def test_spawned_processes_have_a_world_of_their_own(store: Store) -> None:
    """Their logs count ranks from the first of them."""
    path = store.job("causal").rank(0).path
    spawned, own = RankCommunication(path, world_first=10), RankCommunication(path)
    (channel,), (plain,) = spawned.sends, own.sends
    assert plain == (1, WORLD.name, 7)
    assert channel[0] == 11 and channel[1] != WORLD.name
    assert spawned.item(spawned.sends[channel][0]).peer == 11
    assert WORLD.name not in spawned.collectives and len(spawned.collectives) == 1


def test_bisect_names_the_first_in_causal_order(store: Store) -> None:
    done = store.rdb("bisect", "causal", "bad == 0", "--all-ranks", "--json")
    report = json.loads(done.stdout)
    assert report["first"] == [1, 2] and report["order_unknown"] is None
    lines = {one["rank"]: one["line"] for one in report["found"]}
    assert lines == {
        0: line_of("causal.c", "passed on"),
        1: line_of("causal.c", "spoiled"),
        2: line_of("causal.c", "spoiled as well"),
    }
    assert report["found"][-1]["rank"] == 0


def test_bisect_in_the_console_says_the_causal_order(store: Store) -> None:
    said = store.rdb("attach", "causal", text="focus 0,1\nbisect bad == 0\n").stdout
    assert said.rstrip().endswith("first in causal order: rank 1"), said


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["sum < 50", "given < 50", "own >= 0"])
def test_what_a_collective_brought_to_all(store: Store, expression: str) -> None:
    if not (store.home / "brought").exists():
        store.record("brought", "brought.c")
    report = json.loads(store.rdb("bisect", "brought", expression, "--json").stdout)
    ways = {"sum < 50": "MPI_Allreduce", "given < 50": "MPI_Iallreduce"}
    assert report["first"] == [0, 1, 2] and report["together"] == ways.get(expression)
    said = store.rdb("attach", "brought", text=f"bisect {expression}\n").stdout.rstrip()
    how = f"together in {ways[expression]}" if expression in ways else "independently of each other"
    assert said.endswith(f"first in causal order: ranks 0-2, {how}"), said


# Queues.


def test_messages_at_an_event(store: Store) -> None:
    job = store.job("causal")
    messages = Messages(job)
    sent = messages.communication(0).sends[(1, WORLD.name, 7)]
    first = messages.communication(0).event(sent[0])
    at = {0: first + 2, 1: messages.communication(1).items().__next__().event, 2: 0}
    zero, one = queues(messages, at, [0, 1])
    assert [(post.source, post.tag) for post in zero.posted] == [(-1, 8)]
    assert [m.sent_at for m in zero.outgoing] == [first + 1, first + 2]
    assert [(m.source, m.tag, m.expected) for m in one.incoming] == [(0, 7, False)] * 2
    assert [(m.sent_at, m.received_at) for m in one.received] == [(first, at[1])]
    # At the end nothing is left.
    done = store.rdb("messages", "causal", "--json")
    assert done.returncode == 1
    for shown in json.loads(done.stdout):
        assert not (shown["posted"] or shown["incoming"] or shown["outgoing"])


def test_origin_in_a_language_without_casts(store: Store) -> None:
    """GDB's Fortran has neither C's casts nor its names of types."""
    text = "set language fortran\nfocus 0\norigin got\n"
    rows = [line.split() for line in store.rdb("attach", "causal", text=text).stdout.splitlines()]
    assert ["0", "received", "from", "rank", "1"] in [[*row[:1], *row[-4:]] for row in rows]
    made = f"causal.c:{line_of('causal.c', 'spoiled')}"
    assert [row[-2:] for row in rows if row[:1] == ["1"]][-1] == [made, "computed"]


# Deadlocks.


def test_deadlock_names_the_cycle(store: Store) -> None:
    done = store.rdb("deadlock", "cycle")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "deadlock of 3 ranks: 0-2"
    assert lines[1] == "cycle: rank 0 -> rank 1 -> rank 2 -> rank 0"
    place = f"cycle () at deadlock.c:{line_of('deadlock.c', 'cycle')}"
    for rank in range(RANKS):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"rank {rank}, event "))
        following = (rank + 1) % RANKS
        assert lines[at].endswith(place)
        assert f"source={following}, tag=7, comm=COMM_WORLD" in lines[at + 1]
        assert lines[at + 2] == f"  waits for a message from rank {following}, tag 7"


def test_receives_that_ranks_wait_in_are_posted(store: Store) -> None:
    done = store.rdb("messages", "cycle", "--json")
    assert done.returncode == 0, done.stderr
    for rank, queue in enumerate(json.loads(done.stdout)):
        (post,) = queue["posted"]
        assert (post["source"], post["tag"], post["count"]) == ((rank + 1) % RANKS, 7, 1)
        assert post["event"] == queue["event"] + 1
    said = store.rdb("attach", "cycle", text="messages\nfocus 1\ngoto START\nmessages\n").stdout
    assert "1 receive posted" in said.partition("focus 1")[0]
    assert "0 receives posted" in said.partition("goto START")[2]
    earlier = store.rdb("messages", "cycle", "--rank", "1", "--at", "1", "--json")
    assert json.loads(earlier.stdout)[0]["posted"] == []


def test_messages_that_ranks_wait_with_are_on_their_way(store: Store) -> None:
    """Of one rank, too: its neighbour, which waits, is asked all the same."""
    done = store.rdb("messages", "sends", "--json")
    assert done.returncode == 0, done.stderr
    queues = json.loads(done.stdout)
    for rank, queue in enumerate(queues):
        (coming,), (going,) = queue["incoming"], queue["outgoing"]
        assert (going["dest"], going["tag"], going["elements"]) == ((rank + 1) % RANKS, 7, 1)
        assert going["sent_at"] == queue["event"] + 1 and not going["expected"]
        assert coming == queues[(rank - 1) % RANKS]["outgoing"][0]
    said = store.rdb("attach", "sends", text="focus 1\nmessages\n").stdout
    assert "1 message on its way to it, 1 from it" in said and "sending" in said
    alone = store.rdb("messages", "sends", "--rank", "1").stdout
    assert "1 message on its way to it, 1 from it" in alone


def test_deadlock_by_another_tag(store: Store) -> None:
    done = store.rdb("deadlock", "tag", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    graph = found["graph"]
    assert graph["deadlocked"] == [0, 1, 2] and graph["cycle"] == [0, 1]
    waiters = {one["rank"]: one for one in graph["waiters"]}
    assert [waiters[rank]["call"]["name"] for rank in range(RANKS)] == [
        "MPI_Barrier",
        "MPI_Wait",
        "MPI_Barrier",
    ]
    (need,) = waiters[1]["needs"]
    assert need["what"] == "a message from rank 0, tag 5" and need["ranks"] == [0]
    assert "has sent 4 bytes with tag 6" in need["notes"][0]
    assert waiters[0]["needs"][0]["ranks"] == [1]
    lines = {int(rank): place["line"] for rank, place in found["places"].items()}
    barrier = line_of("deadlock.c", "barrier")
    assert lines == {0: barrier, 1: line_of("deadlock.c", "received"), 2: barrier}
    (queue,) = json.loads(store.rdb("messages", "tag", "--rank", "1", "--json").stdout)
    assert [(post["source"], post["tag"]) for post in queue["posted"]] == [(0, 5)]
    assert [(m["tag"], m["expected"]) for m in queue["incoming"]] == [(6, False)]


def test_deadlock_where_somebody_goes_on(store: Store) -> None:
    """Rank 1 stands before its wait: the others wait for it, which is no deadlock."""
    said = store.rdb("attach", "tag", text="focus 1\ngoto START\ndeadlock\n").stdout
    assert "no deadlock: each rank that waits can go on" in said
    assert "not blocked in MPI: 1" in said


def test_who_got_an_answer_later_is_in_no_deadlock(store: Store) -> None:
    """All stand before rank 0's send, which nobody receives with that tag: it came back all the
    same, and only after it they wait for each other."""
    text = f"break deadlock.c:{line_of('deadlock.c', 'sent')}\nfocus 0\nrc\ndeadlock\n"
    said = store.rdb("attach", "tag", text=text).stdout
    assert "MPI_Send(" in said and "waits for rank 1 to receive tag 6" in said
    assert "no deadlock: each rank that waits can go on" in said


def _call(name: str, **arguments: int) -> Call:
    return Call(name, name, {"comm": 2, **arguments})


def test_who_waits_for_the_ended_or_for_anybody(store: Store) -> None:
    """Made up where the ranks of a real job stand: only the logs are asked."""
    messages = Messages(store.job("cycle"))
    at = {rank: store.job("cycle").rank(rank).last_event for rank in range(RANKS)}
    receive = _call("MPI_Recv", source=2, tag=1)
    gone = wait_for(messages, at, {0: receive, 1: receive}, {2: "exited 0"})
    assert gone.deadlocked == (0, 1) and not gone.cycle
    assert gone.waiters[0].needs[0].notes == ("rank 2 has ended (exited 0)",)
    anybody = _call("MPI_Recv", source=-1, tag=1)
    some = wait_for(messages, at, {0: anybody, 1: receive}, {})
    assert some.deadlocked == () and some.free == (2,)
    others = {0: anybody, 1: anybody, 2: anybody}
    assert wait_for(messages, at, others, {}).deadlocked == (0, 1, 2)
    sending = {0: _call("MPI_Ssend", dest=1, tag=4), 1: _call("MPI_Recv", source=0, tag=4)}
    assert not wait_for(messages, at, sending, {}).waiters
    different = {0: _call("MPI_Barrier"), 1: _call("MPI_Bcast", root=0), 2: _call("MPI_Barrier")}
    graph = wait_for(messages, at, different, {})
    assert graph.deadlocked == (0, 1, 2)
    assert "MPI_Barrier in rank 0,2, MPI_Bcast in rank 1" in graph.notes[0]
    first = messages.communication(1).collectives[WORLD.name][0]
    before = {**at, 1: messages.communication(1).event(first) - 1}
    said = "ranks differ in collective 1 of MPI_COMM_WORLD: MPI_Allreduce in rank 0,2, "
    past = wait_for(messages, before, {1: different[0]}, {})  # ranks 0 and 2 are past theirs
    assert past.notes == (f"{said}MPI_Barrier in rank 1",)
    assert not wait_for(messages, before, {1: _call("MPI_Allreduce_c")}, {}).notes
    assert not wait_for(messages, at, {}, {}).notes
