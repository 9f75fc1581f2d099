"""rdb restart of jobs that use verbs, over the software HCA: each request is carried out once.

`make test` restarts at a few events; RDB_TEST_LIVE=10 (make test-live) at so many.
"""

from __future__ import annotations

import copy
import itertools
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from cuts import cuts
from events import events_called
from restarting import branch_at, restart_at
from verbspair import record_pair

from rdb.errors import RdbError
from rdb.live.cut.consistent import Cut, Traffic
from rdb.recording import Job, open_job
from rdb.recording.log.record import Kind
from rdb.recording.log.verbs_calls import NAMESPACE_VERBS, Call, posted
from rdb.recording.messages.verbs import Posts, arrivals_into

RANKS = 4
ROUNDS = 10
MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))
_POST_SEND = NAMESPACE_VERBS << 16 | Call.POST_SEND


class Ring:
    """verbs_ring on four ranks: it verifies each byte and number, and says so in lines."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        words = ("--hca=soft", "--name", "ring", "--", str(program), str(ROUNDS))
        done = self.rdb("run", "-n", str(RANKS), *words)
        assert done.returncode == 0, done.stderr
        self.said = Counter(done.stdout.splitlines())
        assert self.said.total() == RANKS * ROUNDS // 5
        self.job: Job = open_job(self.home / "ring")
        self.traffic = Traffic(self.job)

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def cuts(self, seed: int) -> Iterator[tuple[int, int, Cut]]:
        return cuts(self.job, self.traffic, RANKS, seed)

    def branch(self, name: str, *place: *tuple[int, int, Cut]) -> Ring:
        """What goes on from there is a job of its own, and has said the rest."""
        other = copy.copy(self)
        other.said = branch_at(self.rdb, self.job, self.said, place, name)
        other.job = open_job(self.home / name)
        other.traffic = Traffic(other.job)
        return other

    def restart(self, rank: int, event: int, cut: Cut) -> None:
        where = f"rank {rank} at {event}: {cut.events}"
        restart_at(self.rdb, self.job, self.said, rank, event, cut, where)


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Ring:
    program = build("verbs_ring.c", "-O1", "-libverbs", compiler="mpicc")
    return Ring(tmp_path_factory.mktemp("ring"), program)


def _plan(ring: Ring, cut: Cut) -> Counter[str]:
    """How many lines of each kind."""
    plans, _ = ring.traffic.verbs.plans(cut.events)
    return Counter(line.split()[0] for lines in plans.values() for line in lines)


def test_what_is_posted_again_is_what_was_not_carried_out(ring: Ring) -> None:
    """Counted in another way than the plan is made: messages by the notes of both sides."""
    cuts = ring.cuts(1)
    again = unpolled = 0
    for _ in range(8):
        _, _, cut = next(cuts)
        sent = taken = 0
        for rank, until in cut.events.items():
            for record in ring.job.rank(rank).records(0, until):
                if record.event > until or not record.kind.is_event:
                    continue
                if record.kind is Kind.HYPERCALL and record.nr == _POST_SEND:
                    sent += len(list(posted(record)))
                taken += sum(chunk.addr == 0 and chunk.note == 21 for chunk in record.chunks)
        plan = _plan(ring, cut)
        assert plan["send"] == sent - taken
        again += plan["send"]
        unpolled += plan["wc"]
    assert again and unpolled


def _with(ring: Ring, seed: int, kind: str) -> tuple[int, int, Cut]:
    """A cut whose plan has such lines."""
    cuts = ring.cuts(seed)
    return next(one for one in (next(cuts) for _ in range(200)) if _plan(ring, one[2])[kind])


def test_requests_under_way_are_carried_out_once(ring: Ring) -> None:
    ring.restart(*_with(ring, 2, "send"))


def test_completions_that_nobody_had_polled_come_first(ring: Ring) -> None:
    ring.restart(*_with(ring, 3, "wc"))


def _early(ring: Ring, seed: int, kind: str) -> tuple[int, int, Cut]:
    """One of the cuts that leave most of the work, with many such lines: of each operation."""
    cuts = ring.cuts(seed)
    early = (
        one
        for one in (next(cuts) for _ in range(400))
        if all(2 * at < ring.job.rank(rank).last_event for rank, at in one[2].events.items())
    )
    chosen = max(itertools.islice(early, 50), key=lambda one: _plan(ring, one[2])[kind])
    assert _plan(ring, chosen[2])[kind]
    return chosen


def test_what_wrote_bytes_of_a_branch_is_found(ring: Ring) -> None:
    """A post of the branch, numbered from its beginning; what was posted before is not in it."""
    branch = ring.branch("written", *_early(ring, 5, "send"))
    oracle = {
        (pair.number, life.peer, send.number): send.event
        for verbs in branch.traffic.verbs.ranks.values()
        for pair in verbs.all_pairs
        for life in pair.lives
        for send in life.sends
    }
    posts = [Posts(branch.job.rank(rank)) for rank in range(RANKS)]
    found = before = 0
    for rank in range(RANKS):
        of_rank = (
            arrival
            for record in branch.job.rank(rank).records()
            for arrival in arrivals_into(record, 0, 1 << 64)
        )
        for arrival in of_rank:
            event = oracle.get((arrival.source, arrival.dest, arrival.number), 0)
            try:
                [post] = filter(None, (one.of(arrival) for one in posts))
            except RdbError:
                assert event == 0, arrival
                before += 1
            else:
                assert post.event == event, arrival
                found += 1
    assert found and before


@pytest.mark.slow
def test_a_branch_of_a_branch_is_restarted(ring: Ring) -> None:
    """Requests that the first restart posted again are under way at the beginning of the second."""
    first = ring.branch("first", *_early(ring, 5, "send"))
    assert _plan(first, Cut(dict.fromkeys(range(RANKS), 0), []))["send"]
    second = first.branch("second", 0, 0, first.traffic.cut(0, 0))
    assert second.said == first.said
    seen = [second.job.rank(rank).verbs(0) for rank in range(RANKS)]
    assert any(pair.send.outstanding for one in seen for pair in one.queue_pairs.values())
    second.restart(*next(second.cuts(6)))


def test_ranks_that_have_opened_no_device_do_so_in_the_branch(ring: Ring) -> None:
    """They have asked for the list of devices, or have not called libibverbs."""
    ranks = {rank: ring.job.rank(rank) for rank in range(RANKS)}
    opened = {rank: events_called(one, "ibv_open_device")[0] for rank, one in ranks.items()}
    in_time = sorted(ranks, key=lambda rank: ranks[rank].event(opened[rank]).at_ns)
    first, last = in_time[0], in_time[-1]
    some = ring.traffic.cut(first, opened[first])
    assert some.events[last] < opened[last]
    ring.restart(first, opened[first], some)
    for rank in (first, last):
        ring.restart(rank, opened[rank] - 1, ring.traffic.cut(rank, opened[rank] - 1))


if MANY:

    def test_at_many_events_of_branches(ring: Ring) -> None:
        for seed in range(MANY):
            first = ring.branch("one", *next(ring.cuts(200 + seed)))
            second = first.branch("another", *next(first.cuts(300 + seed)))
            second.restart(*next(second.cuts(400 + seed)))
            for name in ("one", "another"):
                ring.rdb("rm", name)

    @pytest.mark.parametrize("kind", ["read", "value", "send", "wc"])
    def test_at_many_events(ring: Ring, kind: str) -> None:
        for seed in range(MANY):
            ring.restart(*_with(ring, 100 + seed, kind))


def test_the_plan_says_what_is_posted_again(ring: Ring) -> None:
    rank, event, cut = _with(ring, 2, "send")
    planned = ring.rdb("restart", "ring", "--plan", "--rank", str(rank), "--at", str(event))
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.count(": posted again") == _plan(ring, cut)["send"]


def test_the_plan_foresees_what_cannot_be_brought_back(
    build: Build, rdb_home: Path, tmp_path: Path
) -> None:
    program = build("verbs_joined.c", "-O1", "-libverbs")
    done = run_rdb(rdb_home, tmp_path, "run", "--hca=soft", "--name", "joined", "--", str(program))
    assert done.returncode == 0, done.stderr
    recording = open_job("joined").rank(0)
    says = [
        one.event
        for one in recording.records()
        if one.kind.is_event and recording.describe(one.event).startswith("write(1,")
    ]
    refusals = {"posted": "one of its memory windows is bound by a posted request"}
    expected = [refusals.get(line, "") for line in done.stdout.splitlines()]
    assert any(expected)
    for event, refusal in zip(says, expected, strict=True):
        planned = run_rdb(rdb_home, tmp_path, "restart", "joined", "--plan", "--at", str(event))
        assert (planned.returncode != 0) == bool(refusal), planned.stderr
        assert refusal in planned.stderr
        assert planned.stderr.count("\n") == (1 if refusal else 0), planned.stderr


def test_a_window_is_bound_again_by_its_queue_pair_to_another_rank(
    build: Build, rdb_home: Path, tmp_path: Path
) -> None:
    program = str(build("verbs_window.c", "-O1", "-libverbs", compiler="mpicc"))
    words = ("run", "-n", "2", "--hca=soft", "--name", "window", "--", program)
    done = run_rdb(rdb_home, tmp_path, *words)
    assert done.returncode == 0 and done.stdout == "bound, 1\nbound, 2\n", done.stderr
    recording = open_job("window").rank(0)
    said = next(
        one.event
        for one in recording.records()
        if one.kind.is_event and recording.describe(one.event).startswith("write(1,")
    )
    on = run_rdb(rdb_home, tmp_path, "restart", "window", "--at", str(said))
    assert on.returncode == 0 and on.stdout == "bound, 2\n", on.stderr


def test_a_peer_of_another_job_is_refused(build: Build, rdb_home: Path, tmp_path: Path) -> None:
    pair = record_pair(build("verbs_rc.c", "-O1", "-libverbs", "-lpthread"), tmp_path)
    pair.check()
    client = open_job("client").rank(0)
    event = next(one.event for one in client.records() if one.nr == _POST_SEND)
    refused = run_rdb(rdb_home, tmp_path, "restart", "client", "--at", str(event))
    assert refused.returncode != 0
    assert "connected to a process that is not of this job" in refused.stderr
    assert "run -n 2" in refused.stderr
