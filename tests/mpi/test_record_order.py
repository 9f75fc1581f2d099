"""`--record=order`: logs without what is in messages, which all ranks together make again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import deadlines
import pytest
from conftest import TIMEOUT_S, Build, run_rdb

from rdb.paths import mpi_dir, rdb_exec_path
from rdb.recording import Job, open_job
from rdb.recording.order import PAYLOAD, unexpanded

RANKS = 3


class Order:
    """One store with jobs of payloads.c."""

    def __init__(self, folder: Path, build: Build) -> None:
        self.folder, self.home = folder, folder / "home"
        self.program = str(build("mpi/payloads.c", "-O1"))

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def record(self, name: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
        """What it printed."""
        line = ["run", "-n", str(RANKS), "--name", name, *options, "--", self.program, *arguments]
        done = self.rdb(*line)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def job(self, name: str) -> Job:
        return open_job(self.home / name)

    def log_bytes(self, name: str) -> int:
        return sum(path.stat().st_size for path in self.job(name).path.glob("rank-*/log-*"))


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Order:
    """`job`, with a hash at every event, is expanded; `as-recorded` is a copy from before."""
    made = Order(tmp_path_factory.mktemp("order"), build)
    said = made.record("job", options=["--record=order", "--hash-every", "1"])
    assert len(said) == RANKS + 10 * (RANKS - 1)
    (made.folder / "said").write_text("\n".join(said))
    shutil.copytree(made.home / "job", made.home / "as-recorded")
    done = made.rdb("expand", "job")
    assert done.returncode == 0, done.stderr
    assert "a replay of all ranks regenerated" in done.stderr
    return made


def test_the_log_holds_no_payloads(order: Order) -> None:
    order.record("small", options=["--record=order"])
    order.record("full")
    small, full = order.log_bytes("small"), order.log_bytes("full")
    payload = sum((order.job("job").path / f"rank-{r}" / PAYLOAD).stat().st_size for r in range(3))
    assert payload > 5_000_000
    assert full > payload
    assert small < full / 20, (small, full)
    events = sum(one.last_event for one in order.job("small").all_ranks())
    assert small < 400 * events


def test_each_rank_replays_alone(order: Order) -> None:
    """With the hash of memory that it had at every event."""
    assert not unexpanded(order.job("job"))
    done = order.rdb("replay", "job", "--json")
    results = json.loads(done.stdout)
    assert [(one["ok"], one["rank"]) for one in results] == [(True, r) for r in range(RANKS)]
    for one in results:
        assert one["hashes"] >= one["events"] > 100, one
    shown = order.rdb("info", "job").stdout
    assert "the order of messages (--record=order), expanded" in shown
    again = order.rdb("expand", "job")
    assert (again.returncode, again.stderr) == (0, "rdb: job is expanded already\n")


def test_wildcards_are_answered_in_their_order(order: Order) -> None:
    """By the log, before anything is expanded; who came is what the program printed."""
    rank = order.job("as-recorded").rank(0)
    came = [
        message.source
        for event in range(rank.last_event + 1)
        for message in rank.receives(event)
        if message.tag >= 20 and message.tag < 30
    ]
    said = (order.folder / "said").read_text().splitlines()
    assert came == [int(line.split()[1]) for line in said if line.startswith("from ")]
    assert set(came) == {1, 2}


def test_a_value_leads_to_the_message_that_brought_it(order: Order) -> None:
    rank = order.job("job").rank(0)
    event = next(e for e in range(rank.last_event) if rank.receives(e))
    place = next(one.span for one in rank.event(event).chunks if one.span[1] > 1000)
    found = rank.receive_into(event, place[0] + 80, 8)
    assert found is not None
    assert (found.source, found.offset, found.size_bytes) == (2, 80, 8000)


def test_what_is_not_expanded_says_so(order: Order) -> None:
    job = order.job("as-recorded")
    assert len(unexpanded(job)) == RANKS
    line = [str(rdb_exec_path()), "--replay", str(job.path / "rank-0")]
    done = deadlines.run([*line, "--files", str(job.path / "files"), "--verify"], TIMEOUT_S)
    assert done.returncode == 5
    assert "run rdb expand to regenerate them" in json.loads(done.stdout)["what"]
    packed = order.rdb("pack", "as-recorded", "--ranks", "0", "-o", str(order.folder / "p.rdb"))
    assert packed.returncode == 1
    assert "a part of it cannot be replayed" in packed.stderr


def test_without_a_launcher_one_line(order: Order, tmp_path: Path) -> None:
    environment = {**os.environ, "RDB_HOME": str(order.home), "PATH": str(tmp_path)}
    done = deadlines.run(
        [sys.executable, "-m", "rdb", "replay", "as-recorded"], TIMEOUT_S, env=environment
    )
    assert done.returncode == 6
    (line,) = done.stderr.splitlines()
    assert "to regenerate its messages: mpirun" in line
    assert "not in PATH" in line


def test_a_payload_that_was_changed_is_told(order: Order) -> None:
    changed = order.home / "changed"
    shutil.copytree(order.home / "job", changed)
    path = changed / "rank-1" / PAYLOAD
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = order.rdb("replay", "changed")
    assert done.returncode == 5
    assert "rank 1: replay failed: event " in done.stderr
    assert "`payload` beside the log differs from the recording" in done.stderr
    assert done.stdout.count("hashes agree") == RANKS - 1


def test_other_messages_than_those_recorded_are_told(order: Order) -> None:
    """Rank 1 of another run sends other data."""
    order.record("other", "5", options=["--record=order"])
    mixed = order.home / "mixed"
    shutil.copytree(order.home / "as-recorded", mixed)
    shutil.rmtree(mixed / "rank-1")
    shutil.copytree(order.home / "other" / "rank-1", mixed / "rank-1")
    for stored in (order.home / "other" / "files").iterdir():
        shutil.copy(stored, mixed / "files" / stored.name)
    done = order.rdb("expand", "mixed")
    assert done.returncode == 5
    assert "cannot be expanded, event " in done.stderr
    assert "differ from the recording" in done.stderr
    assert not list(mixed.glob(f"rank-*/{PAYLOAD}*"))


def test_ranks_that_were_killed(order: Order) -> None:
    """Their peers' last calls have no answer, and nobody waits for them."""
    line = ["run", "-n", str(RANKS), "--name", "killed", "--record=order"]
    assert order.rdb(*line, "--", order.program, "die").returncode == 137
    done = order.rdb("replay", "killed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("events, ") == RANKS


@pytest.mark.skipif(not mpi_dir("mpich").exists(), reason="no MPICH here")
def test_over_mpich(order: Order) -> None:
    order.record("mpich", options=["--record=order", "--mpi", "mpich"])
    done = order.rdb("replay", "mpich")
    assert done.returncode == 0, done.stderr
    assert "a replay of all ranks regenerated" in done.stderr


@pytest.mark.skipif(not mpi_dir("mpich").exists(), reason="no MPICH here")
def test_partitioned_messages_and_exchanges(order: Order, build: Build) -> None:
    """The former are in the log; both halves of the latter are made again."""
    program = str(build("mpi/partitioned.c", "-O1", "-w", compiler="mpicc.mpich"))
    options = ["--record=order", "--mpi=mpich", "--hash-every", "1", "--name", "parts"]
    made = order.rdb("run", "-n", "2", *options, "--", program)
    assert made.returncode == 0, made.stderr
    done = order.rdb("replay", "parts", "--verify")
    assert done.returncode == 0, done.stderr
    assert "a replay of all ranks regenerated" in done.stderr
    assert done.stdout.count("hashes agree") == 2


@pytest.mark.skipif(not mpi_dir("mpich").exists(), reason="no MPICH here")
@pytest.mark.parametrize("below", ["mpich", "openmpi"])
def test_more_elements_than_an_int_counts(order: Order, build: Build, below: str) -> None:
    """Messages and collectives of them are made again as the same single elements."""
    program = str(build("mpi/large_counts.c", "-O1", "-w", compiler="mpicc.mpich"))
    name, data = f"large-{below}", str(order.folder / "data")
    options = ["--record=order", f"--mpi={below}", "--hash-every", "1", "--name", name]
    many = ["many"] if below == "mpich" else []
    made = order.rdb("run", "-n", "2", *options, "--", program, data, *many)
    assert made.returncode == 0, made.stderr
    done = order.rdb("replay", name, "--verify")
    assert done.returncode == 0, done.stderr
    assert "a replay of all ranks regenerated" in done.stderr
    assert done.stdout.count("hashes agree") == 2


def test_what_cannot_be_made_again_is_refused(order: Order, build: Build) -> None:
    kept = order.rdb("run", "--record=order", "--keep", "2", "--", order.program)
    assert (kept.returncode, len(kept.stderr.splitlines())) == (2, 1)
    assert "--keep drops the beginning" in kept.stderr
    spawning = order.rdb("run", "-n", "1", "--record=order", "--", str(build("mpi/spawn.c", "-O1")))
    assert spawning.returncode == 125
    assert "messages to processes that join the job" in spawning.stderr
