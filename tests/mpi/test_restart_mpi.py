"""rdb restart of MPI jobs: consistent cuts, and what comes of them.

`make test` restarts at a few events; RDB_TEST_LIVE=50 (make test-live) at so many.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import openmpi
import pytest
from conftest import Build, run_rdb
from cuts import cuts
from events import written

from rdb.errors import RdbError
from rdb.live.cut.consistent import Cut, Traffic
from rdb.recording import Job, open_job
from rdb.recording.log.record import NEVER, Kind
from rdb.recording.messages.clocks import Clocks
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.communication import What

HEAT = Path(__file__).parents[2] / "demos" / "heat" / "heat.c"
RANKS = 4
MANY = int(os.environ.get("RDB_TEST_LIVE", "0"))


class Recorded:
    """A job of four ranks, and what it printed."""

    def __init__(
        self,
        folder: Path,
        program: Path,
        *arguments: str,
        mpi: str = "openmpi",
        ranks: int = RANKS,
    ) -> None:
        self.folder = folder
        self.name = "job"
        self.home = folder / "home"
        line = ["run", "-n", str(ranks), "--name", "job", "--mpi", mpi, "--", str(program)]
        done = self.rdb(*line, *arguments)
        assert done.returncode == 0, done.stderr
        self.said = sorted(done.stdout.splitlines())
        self.job: Job = open_job(self.home / "job")
        self.traffic = Traffic(self.job)

    def branch(self, rank: int, event: int, mpi: str = "openmpi") -> Recorded:
        at = ["--rank", str(rank), "--at", str(event), "--mpi", mpi]
        name = "branch" if self.name == "job" else f"{self.name}-again"
        done = self.rdb("restart", self.name, *at, "--name", name)
        assert done.returncode == 0, done.stderr
        made = Recorded.__new__(Recorded)
        made.folder, made.home, made.name = self.folder, self.home, name
        made.said = sorted(done.stdout.splitlines())  # what ranks said before is not said again
        assert Counter(made.said) <= Counter(self.said)
        made.job = open_job(self.home / name)
        made.traffic = Traffic(made.job)
        return made

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def cuts(self, seed: int) -> Iterator[tuple[int, int, Cut]]:
        return cuts(self.job, self.traffic, RANKS, seed)

    def restart(
        self,
        rank: int,
        event: int,
        cut: Cut,
        verify: bool = True,
        mpi: str = "openmpi",
    ) -> None:
        at = ["--rank", str(rank), "--at", str(event)]
        done = self.rdb("restart", self.name, *at, "--name", "cut", "--mpi", mpi)
        if self.name == "branch" and "its datatype was freed or it has too many" in done.stderr:
            return
        where = f"rank {rank} at {event}: {cut.events}, {len(cut.under_way)} messages, {mpi}"
        assert done.returncode == 0, f"{where}: {done.stderr}"
        # each line is a write of its own; what was written before the cut is not written again
        again = Counter(done.stdout.splitlines())
        assert again <= Counter(self.said), where
        assert again.total() == len(self.said) - written(self.job, cut.events), where
        branch = open_job(self.home / "cut")
        assert branch.meta["parent"]["cut"] == {str(one): at for one, at in cut.events.items()}
        if verify:
            verified = self.rdb("replay", "cut", "--verify")
            assert verified.returncode == 0, f"{where}: {verified.stderr}"
        self.rdb("rm", "cut")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("live"), build("mpi/restarted.c"))


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("requests"), build("mpi/restarted_requests.c"))


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Recorded]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMPI_MCA_osc", openmpi.windows())
        program = build("mpi/restarted_windows.c")
        yield Recorded(tmp_path_factory.mktemp("windows"), program)


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Only as far as it is deterministic."""
    folder = tmp_path_factory.mktemp("heat")
    subprocess.run(["mpicc", "-g", "-Og", HEAT, "-o", folder / "heat", "-lm"], check=True)
    return Recorded(folder, folder / "heat", "64", "100")


def test_cuts_are_consistent(live: Recorded) -> None:
    """By the logs alone, and in another way than they were made: by counting."""
    cuts = live.cuts(1)
    under_way = 0
    for _ in range(MANY or 30):
        _, _, cut = next(cuts)
        sent: Counter[tuple[int, int, int]] = Counter()
        got: Counter[tuple[int, int, int]] = Counter()
        calls: Counter[int] = Counter()
        for rank, until in cut.events.items():
            recording = live.job.rank(rank)
            for record in recording.records(0, until):
                if record.kind is not Kind.HYPERCALL or record.event > until:
                    continue
                sent.update((rank, one.source, one.tag) for one in recording.sends(record.event))
                got.update((one.source, rank, one.tag) for one in recording.receives(record.event))
                whole = ("MPI_Bcast", "MPI_Cart_create")
                calls[rank] += recording.describe(record.event).startswith(whole)
        assert got <= sent
        assert (sent - got).total() == len(cut.under_way)
        assert len({calls[rank] for rank in range(RANKS)}) == 1
        under_way += len(cut.under_way)
    assert under_way > 30  # it is worth the trouble


def test_messages_of_one_event_are_told_apart(requests: Recorded) -> None:
    """By their numbers among the sends of MPI_Startall, which also starts receives."""
    messages = Traffic(requests.job).messages
    assert len({(one.source, one.sent) for one in messages}) < len(messages)
    assert len({(one.source, one.sent, one.which) for one in messages}) == len(messages)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_whoever_has_found_a_message_knows_that_it_was_sent(
    tmp_path: Path, build: Build, mpi: str
) -> None:
    """The n-th message has n bytes, so the size says which one a probe has found."""
    made = Recorded(tmp_path, build("mpi/probed.c"), mpi=mpi, ranks=2)
    messages = Messages(made.job)
    clocks = Clocks(messages)
    items = messages.communication(0).items()
    sent = {one.size_bytes: one.event for one in items if one.what == What.SEND}
    items = messages.communication(1).items()
    found = [(one.size_bytes, one.event) for one in items if one.what == What.PROBED]
    assert [size for size, _ in found] == [2, 2, 3, 4, 5]
    for size, event in found:
        assert made.traffic.closed({0: 0, 1: event})[0] == sent[size]
        assert clocks.before((0, sent[size] - 1), (1, event))
        assert not clocks.before((0, sent[size]), (1, event))


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("threads", [1, 4])
def test_messages_of_several_senders_that_threads_have_found(
    tmp_path: Path, build: Build, threads: int, mpi: str
) -> None:
    """A cut after the event that has found or received a message has just its send, and no more."""
    program = build("mpi/probed_many.c", "-pthread")
    made = Recorded(tmp_path, program, str(threads), mpi=mpi)
    messages = Messages(made.job)
    clocks = Clocks(messages)
    sent = {
        one.size_bytes: (rank, one.event)
        for rank in range(1, RANKS)
        for one in messages.communication(rank).items()
        if one.what == What.SEND
    }
    heard = [
        one
        for one in messages.communication(0).items()
        if one.what in (What.PROBED, What.RECV) and one.size_bytes
    ]
    known = made.traffic.closed(dict.fromkeys(range(RANKS), 0) | {0: heard[0].event - 1})
    for event, items in groupby(heard, key=lambda one: one.event):
        known[0] = event
        for one in items:
            rank, send = sent[one.size_bytes]
            known[rank] = max(known[rank], send)
            assert clocks.before((rank, send - 1), (0, event))
        assert made.traffic.closed(dict.fromkeys(range(RANKS), 0) | {0: event}) == known
    assert sum(one.what == What.PROBED for one in heard) >= len(sent) - 4


def test_a_moment_stands_for_the_nearest_cut(live: Recorded) -> None:
    """Checkpoints, times and the end of a job that was killed are where they are."""
    moved = 0
    for event in range(live.job.rank(2).last_event + 1):
        near = live.traffic.settled(2, event)
        cut = live.traffic.cut(2, near)
        assert cut.events[2] == near
        moved += near != event
    assert moved > 3
    # what others have not come to, as if they had been killed before
    unfinished = Traffic(live.job)
    for needs in unfinished._needs.values():
        needs[:] = [
            (event, other, until if until <= 40 else NEVER) for event, other, until in needs
        ]
    last = live.job.rank(2).last_event
    with pytest.raises(RdbError, match="the recordings of other ranks end before this point"):
        unfinished.cut(2, last)
    near = unfinished.settled(2, last)
    assert unfinished.cut(2, near).events[2] == near == unfinished._latest()[2]


def test_it_goes_on_with_all_that_was_pending(live: Recorded) -> None:
    cuts = live.cuts(2)
    tried = 0
    while tried < (MANY or 2):
        rank, event, cut = next(cuts)
        if MANY or len(cut.under_way) > 8:
            mpi = "mpich" if tried % 2 else "openmpi"
            live.restart(rank, event, cut, verify=tried == 0 or MANY > 0, mpi=mpi)
            tried += 1


def test_requests_that_last_and_collectives_that_go_on(requests: Recorded) -> None:
    """Persistent requests, nonblocking collectives, matched messages, a communicator's copy."""
    cuts = requests.cuts(7)
    wanted = 0
    while wanted < (MANY or 2):
        rank, event, cut = next(cuts)
        if MANY or len(cut.under_way) > 5:
            requests.restart(
                rank, event, cut, verify=MANY > 0, mpi="mpich" if wanted % 2 else "openmpi"
            )
            wanted += 1


def test_windows_hold_what_they_held(windows: Recorded) -> None:
    """Cuts are where no operation is under way; open epochs begin again."""
    cuts = windows.cuts(8)
    tried = 0
    while tried < (MANY or 1):
        rank, event, cut = next(cuts)
        if min(cut.events.values()) > 20:  # the windows are there
            mpi = "openmpi" if tried % 2 else "mpich"
            windows.restart(rank, event, cut, verify=MANY > 0, mpi=mpi)
            tried += 1


@pytest.mark.slow
def test_memory_that_ranks_share_is_shared_again(tmp_path: Path, build: Build) -> None:
    """Where all have seen what was stored: after the first barrier of a round."""
    shared = Recorded(tmp_path, build("mpi/restarted_shared.c"))
    first = shared.job.rank(0)
    events = range(1, first.last_event + 1)
    barriers = [event for event in events if first.describe(event).startswith("MPI_Barrier")]
    event = barriers[8]
    shared.restart(0, event, shared.traffic.cut(0, event), mpi="mpich")
    branch = shared.branch(0, barriers[4])
    again = [event - barriers[4] for event in (barriers[6], barriers[8])]
    for event, mpi in zip(again, ("openmpi", "mpich"), strict=True):
        described = branch.job.rank(0).describe(event)
        assert described.startswith("MPI_Barrier"), described
        branch.restart(0, event, branch.traffic.cut(0, event), mpi=mpi)
    further = branch.branch(0, again[0])
    event = again[1] - again[0]
    further.restart(0, event, further.traffic.cut(0, event))


def test_no_cut_goes_through_an_epoch(windows: Recorded) -> None:
    """Seen in another way than they are made: by the names of the calls."""
    cuts = windows.cuts(9)
    for _ in range(20):
        _, _, cut = next(cuts)
        fences = set()
        for rank, until in cut.events.items():
            recording = windows.job.rank(rank)
            calls = [recording.describe(event) for event in range(1, until + 1)]
            names = [call.partition("(")[0] for call in calls]
            fences.add(names.count("MPI_Win_fence"))
            assert names.count("MPI_Win_lock") == names.count("MPI_Win_unlock")
            assert names.count("MPI_Win_start") == names.count("MPI_Win_complete")
            assert names.count("MPI_Win_post") == names.count("MPI_Win_wait")
            for operation, end in (
                ("MPI_Accumulate", "MPI_Win_fence"),
                ("MPI_Rput", "MPI_Win_flush_all"),
            ):
                if operation in names:
                    assert end in names[len(names) - names[::-1].index(operation) :]
        assert len(fences) == 1


@pytest.mark.parametrize("which", ["live", "requests", "windows"] if MANY else ["requests"])
def test_a_branch_of_a_branch(which: str, request: pytest.FixtureRequest) -> None:
    """What a branch began with in MPI is not in its log."""
    first: Recorded = request.getfixturevalue(which)
    cuts = first.cuts(10)
    for _ in range(MANY // 5 or 1):
        rank, event, _ = next(one for one in cuts if 25 < one[1] < 110)
        branch = first.branch(rank, event)
        tried = 0
        cuts_there = branch.cuts(event)
        while tried < (3 if MANY else 1):
            rank, event, there = next(cuts_there)
            branch.restart(rank, event, there, MANY > 0, "openmpi" if tried % 2 else "mpich")
            tried += 1
        first.rdb("rm", branch.name)


def test_heat_goes_on_over_another_mpi(heat: Recorded) -> None:
    cuts = heat.cuts(3)
    for _ in range(MANY or 1):
        heat.restart(*next(cuts), verify=MANY > 0, mpi="mpich")


def test_and_back(tmp_path: Path, build: Build) -> None:
    """Recorded over MPICH, although the program was built for Open MPI."""
    over = Recorded(tmp_path, build("mpi/restarted.c"), mpi="mpich")
    cuts = over.cuts(6)
    for _ in range(MANY or 1):
        over.restart(*next(cuts), verify=MANY > 0, mpi="openmpi")


def test_an_mpi_that_is_not_there(live: Recorded) -> None:
    done = live.rdb("restart", "job", "--at", "50", "--mpi", "lam")
    assert done.returncode != 0
    assert done.stderr.startswith(
        "rdb: --mpi lam: rdb has no library for this MPI; rdb has: openmpi"
    )


if MANY:

    def test_a_ring_goes_round(tmp_path: Path, build: Build) -> None:
        ring = Recorded(tmp_path, build("mpi/ring.c"))
        cuts = ring.cuts(4)
        for _ in range(MANY):
            ring.restart(*next(cuts))


def test_the_plan_says_what_is_sent_again(live: Recorded) -> None:
    cuts = live.cuts(5)
    rank, event, cut = next(one for one in cuts if one[2].under_way)
    planned = live.rdb("restart", "job", "--plan", "--rank", str(rank), "--at", str(event))
    assert planned.returncode == 0, planned.stderr
    assert planned.stdout.count("under way:") == len(cut.under_way)
    for one, at in cut.events.items():
        assert f"rank {one}: replay from checkpoint 0 to event {at}, then live" in planned.stdout
    assert "no message is received before it is sent" in planned.stdout


def test_a_rank_that_is_not_there(live: Recorded) -> None:
    assert live.rdb("restart", "job", "--rank", "9").stderr.startswith("rdb: job has no rank 9")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_from_before_mpi_begins(tmp_path: Path, build: Build, mpi: str) -> None:
    """The launcher is there for MPI_Init, also in a branch that began before that."""
    home, program = tmp_path / "home", str(build("mpi/ring.c"))
    line = ["run", "-n", "2", "--name", "job", "--mpi", mpi, "--", program]
    whole = run_rdb(home, tmp_path, *line)
    assert whole.returncode == 0 and whole.stdout, whole.stderr
    for name, branch in (("job", "first"), ("first", "second")):
        restart = ["restart", name, "--at", "0", "--mpi", mpi, "--name", branch]
        done = run_rdb(home, tmp_path, *restart)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == sorted(whole.stdout.splitlines())
