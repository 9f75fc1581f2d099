"""What nonblocking collectives and windows order, and persistent receives, from the logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import run_rdb

from rdb.recording import Job, open_job
from rdb.recording.messages.clocks import Clocks, _Calls
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.queues import posted_receives
from rdb.recording.messages.wait_graph import Call
from rdb.recording.messages.waiting import wait_for
from rdb.recording.mpi.epochs import Epochs, completed, missing, unposted
from rdb.recording.mpi.locks import ALL, Locks, Section, released

RANKS = 3


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path]) -> Job:
    home = tmp_path_factory.mktemp("home")
    program = str(build("mpi/ordered.c"))
    done = run_rdb(home, home, "run", "--name", "ordered", "-n", str(RANKS), "--", program)
    assert done.returncode == 0, done.stderr
    return open_job(home / "ordered")


def events(job: Job, rank: int, call: str) -> list[int]:
    recording = job.rank(rank)
    every = range(recording.last_event + 1)
    return [event for event in every if recording.describe(event).startswith(f"MPI_{call}(")]


def test_a_nonblocking_collective_orders_when_it_is_complete(job: Job) -> None:
    clocks = Clocks(Messages(job))
    begun = [events(job, rank, "Iallreduce")[0] for rank in range(RANKS)]
    done = [next(e for e in events(job, r, "Wait") if e > begun[r]) for r in range(RANKS)]
    for rank in range(RANKS):
        for other in set(range(RANKS)) - {rank}:
            assert clocks.past(rank, done[rank] - 1)[other] < begun[other] - 1
            assert clocks.past(rank, done[rank])[other] == begun[other] - 1


def test_fences_order_all_ranks_but_those_that_begin(job: Job) -> None:
    clocks = Clocks(Messages(job))
    fences = [events(job, rank, "Win_fence") for rank in range(RANKS)]
    for rank in range(RANKS):
        first, second = fences[rank]
        for other in set(range(RANKS)) - {rank}:
            assert clocks.past(rank, first)[other] < fences[other][0] - 1
            assert clocks.past(rank, second)[other] == fences[other][1] - 1


def test_communicators_that_are_over_cost_nothing(
    tmp_path: Path, build: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a communicator whose collectives are over, its last one is known, without a search."""
    program = str(build("mpi/many_comms.c"))
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "many", "-n", "2", "--", program)
    assert done.returncode == 0, done.stderr
    job = open_job(tmp_path / "many")
    clocks, searches = Clocks(Messages(job)), 0
    barriers = [events(job, rank, "Barrier") for rank in range(2)]
    clocks.past(0, 1)
    clocks.past(1, 1)
    by = _Calls.by

    def counted(self: _Calls, event: int) -> int | None:
        nonlocal searches
        searches += 1
        return by(self, event)

    monkeypatch.setattr(_Calls, "by", counted)
    for own, other in zip(*barriers, strict=True):
        assert clocks.past(0, own)[1] == other - 1
        assert clocks.past(0, own - 1)[1] < other - 1
        assert clocks.past(1, other)[0] == own - 1
    assert searches < 20 * len(barriers[0])


def test_who_has_waited_for_an_epoch_knows_of_it(job: Job) -> None:
    clocks = Clocks(Messages(job))
    (wait,), (complete,) = events(job, 1, "Win_wait"), events(job, 0, "Win_complete")
    assert clocks.past(1, wait - 1)[0] < complete - 1
    assert clocks.past(1, wait)[0] == complete - 1
    assert clocks.past(2, events(job, 2, "Barrier")[0] - 1)[0] < complete - 1


def test_sections_under_locks_are_read(job: Job) -> None:
    messages = Messages(job)
    locks = [messages.communication(rank).locks for rank in range(RANKS)]
    (name,) = locks[0]
    ((first,), (every,)) = (locks[0][name].sections[target] for target in (1, ALL))
    assert (first.exclusive, every.exclusive) == (True, False)
    assert first.unlocked == events(job, 0, "Win_unlock")[0]
    assert not locks[1][name].sections[1][0].exclusive
    assert list(locks[2][name].sections) == [ALL]  # the other one has had no lock
    # Between the two was a barrier: by the clock, too, the first was over when the other ended.
    (unlock,) = events(job, 1, "Win_unlock")
    assert messages.on_host_of(1) == [0, 2]

    def called(event: int) -> int | None:
        return messages.called_ns(1, event)

    found = list(released(locks[1][name], {0: locks[0][name]}, called))
    assert (unlock, 0, first.unlocked) in found
    assert list(released(locks[1][name], {2: locks[2][name]}, called)) == []
    assert Clocks(messages).past(1, unlock)[0] >= first.unlocked - 1


def test_who_unlocks_later_knows_of_it() -> None:
    """Ranks 0 and 1, target 5: an unlock is called 10 before it is answered."""

    def locks(*sections: tuple[int, int, bool]) -> Locks:
        made = Locks()
        made.sections[5] = [Section(event, at_ns, alone) for event, at_ns, alone in sections]
        return made

    def told(own: Locks, other: Locks) -> list[tuple[int, int]]:
        calls = {one.unlocked: one.at_ns - 10 for one in own.sections[5]}
        return [(unlock, before) for unlock, _, before in released(own, {0: other}, calls.get)]

    other = locks((3, 100, False), (6, 200, True))
    assert told(locks((7, 250, False)), other) == [(7, 6)]
    assert told(locks((7, 205, False)), other) == []  # they overlap; the shared one tells nothing
    assert told(locks((7, 205, True)), other) == [(7, 3)]
    assert told(locks((7, 105, True)), other) == []
    assert told(locks((7, 150, True), (9, 400, True)), other) == [(7, 3), (9, 6)]
    # A shared lock of all targets against an exclusive one of this.
    everywhere = Locks()
    everywhere.sections[ALL] = [Section(4, 120, False)]
    assert told(locks((7, 150, True)), everywhere) == [(7, 4)]
    assert told(locks((7, 150, False)), everywhere) == []
    assert list(released(locks((7, 150, True)), {0: other}, lambda event: None)) == []


def test_persistent_receives_are_posted_while_they_are_active(job: Job) -> None:
    communication = Messages(job).communication(1)
    starts = events(job, 1, "Start")
    assert len(starts) == 2
    for start in starts:
        assert posted_receives(communication, 1, start - 1) == []
        (posted,) = posted_receives(communication, 1, start)
        assert (posted.event, posted.source, posted.tag) == (start, 0, 9)
        assert posted_receives(communication, 1, start + 1) == []


def test_who_waits_in_windows(job: Job) -> None:
    """Made up where the ranks stand: only the logs are asked."""
    messages = Messages(job)
    window = {"win": 256}
    at = {rank: events(job, rank, "Win_fence")[0] - 1 for rank in range(RANKS)}
    fence = Call("MPI_Win_fence", "MPI_Win_fence", window)
    graph = wait_for(messages, at, {0: fence, 1: fence}, {2: "exited 0"})
    assert graph.deadlocked == (0, 1) and [one.waits_for for one in graph.waiters] == [(2,), (2,)]
    assert not wait_for(messages, at, dict.fromkeys(range(RANKS), fence), {}).waiters
    post, complete = events(job, 1, "Win_post")[0], events(job, 0, "Win_complete")[0]
    wait = Call("MPI_Win_wait", "MPI_Win_wait", window)
    (waiter,) = wait_for(messages, {0: complete - 1, 1: post, 2: 0}, {1: wait}, {}).waiters
    assert waiter.waits_for == (0,) and "MPI_Win_complete" in waiter.needs[0].what
    assert not wait_for(messages, {0: complete, 1: post, 2: 0}, {1: wait}, {}).waiters
    done = Call("MPI_Win_complete", "MPI_Win_complete", window)
    (waiter,) = wait_for(messages, {0: complete - 1, 1: post - 1, 2: 0}, {0: done}, {}).waiters
    assert waiter.waits_for == (1,) and "MPI_Win_post" in waiter.needs[0].what
    begun = events(job, 1, "Iallreduce")[0]
    request = messages.communication(1).item(0).request
    for place in range(messages.communication(1).count):
        item = messages.communication(1).item(place)
        request = item.request if item.event == begun else request
    waits = Call("MPI_Wait", "MPI_Wait", {"request": 0}, (request,))
    others = {0: events(job, 0, "Iallreduce")[0] - 1, 2: 10**6}
    (waiter,) = wait_for(messages, {1: begun, **others}, {1: waits}, {}).waiters
    assert waiter.waits_for == (0,)


def test_epochs_that_a_test_has_ended_are_left_out() -> None:
    target = Epochs(posts=[(1, (1,)), (5, (1, 2)), (9, (1,))], waits=[6, 10])
    origin = Epochs(starts=[(2, (0,)), (4, (0,)), (6, (0,))], completes=[3, 5, 7])
    assert list(completed(0, target, {1: origin})) == [(6, 1, 5), (10, 1, 7)]
    at = {0: 9, 1: 6, 2: 0}
    assert missing(target, {1: origin}, at, 0) == (1,)
    assert missing(target, {1: origin}, {**at, 1: 7}, 0) == ()
    assert missing(target, {1: origin}, {**at, 0: 5}, 0) == (2,)
    assert unposted(origin, {0: target}, {0: 8, 1: 6}, 1) == (0,)
    assert unposted(origin, {0: target}, {0: 9, 1: 6}, 1) == ()
    assert missing(Epochs(), {}, {0: 1}, 0) == unposted(Epochs(), {}, {0: 1}, 0) == ()
