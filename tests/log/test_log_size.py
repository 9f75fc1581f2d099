"""How much a log holds: polling that finds nothing, and where --log-budget ends it."""

from __future__ import annotations

from pathlib import Path

from conftest import Build
from faults import Rank
from mpijob import record

from rdb.recording import EndKind, Kind, RankRecording
from rdb.recording.log.describe import mpi_functions
from rdb.timeline.timeline import Timeline

TURNS = 3000
POLLS = ("Test", "Testall", "Testany", "Testsome", "Request_get_status", "Iprobe", "Improbe")


def test_polls_in_vain_are_one_record(build: Build, tmp_path: Path) -> None:
    """Each loop is one record with a count; the replay comes out of it at the same turn."""
    job = record(tmp_path, 2, build("mpi/polls.c", "-O1"), str(TURNS), hash_every=1000)
    assert (job.result.returncode, job.result.stdout) == (0, "got 42 42\n"), job.result.stderr
    calls = [r for r in job.rank(0).records() if r.kind is Kind.HYPERCALL]
    numbers = {function["name"]: function["nr"] for function in mpi_functions()}
    for name in POLLS:
        found = [r for r in calls if r.nr == numbers[f"MPI_{name}"]]
        assert sum(1 + r.repeat for r in found) == TURNS, name
        # a hash, or a checkpoint, between two events ends a run of them
        assert len(found) <= 2 + TURNS // 1000 + 1, name
    job.expect_equal()


def test_the_log_ends_at_its_budget(build: Build, tmp_path: Path) -> None:
    """The program goes on; what was recorded replays."""
    rank = Rank.make(tmp_path)
    budget = 64 << 10
    code = rank.record(build("calls_storm.c", "-O1"), "1", "2000", options=("--log-budget", "64KB"))
    assert code == 0
    recording = RankRecording(rank.path, rank.files)
    assert recording.end is not None and recording.end.kind is EndKind.BUDGET
    assert recording.end.state == "log budget of 64KB spent: the rest was not recorded"
    with Timeline(recording) as timeline:
        assert timeline.goto_end().text == recording.end.state
    size = sum(path.stat().st_size for path in rank.path.glob("log-*.seg"))
    assert budget // 2 < size < budget + 1024
    code, answer, said = rank.verify()
    assert (code, answer.get("ok")) == (0, True), said
