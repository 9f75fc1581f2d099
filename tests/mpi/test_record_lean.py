"""`--record=lean`: large messages are not in the log of their receiver; their senders make them
again."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.live.expand.made import MARKS, PART, Made
from rdb.paths import mpi_dir
from rdb.recording import Job, RankRecording, open_job
from rdb.recording.log.record import Kind
from rdb.recording.messages.messages import Messages
from rdb.recording.mpi.payloads import read_payloads
from rdb.recording.order import PAYLOAD, unregenerated
from rdb.replay.agent import StopReason
from rdb.replay.replica import Replica

RANKS = 3
LARGE = 64 << 10
EACH = ("--hash-every", "1")
needs_mpich = pytest.mark.skipif(not mpi_dir("mpich").exists(), reason="no MPICH here")


class Lean:
    """A store with jobs of large_messages.c."""

    def __init__(self, folder: Path, build: Build) -> None:
        self.folder, self.home = folder, folder / "home"
        self.program = str(build("mpi/large_messages.c", "-O1"))

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def record(
        self, name: str, *arguments: str, options: Sequence[str] = EACH, code: int = 0
    ) -> list[str]:
        """What it printed."""
        line = ["run", "-n", str(RANKS), "--name", name, "--record=lean", *options]
        done = self.rdb(*line, "--", self.program, *arguments)
        assert done.returncode == code, done.stderr
        return sorted(done.stdout.splitlines())

    def copy(self, name: str, of: str = "as-recorded") -> Job:
        shutil.copytree(self.home / of, self.home / name)
        return self.job(name)

    def job(self, name: str) -> Job:
        return open_job(self.home / name)

    def agrees(self, name: str, ranks: int = RANKS) -> None:
        """Each rank replays alone, with the hash of memory that it had at every event."""
        done = self.rdb("replay", name)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("hashes agree") == ranks
        assert not unregenerated(self.job(name))


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Lean:
    """`job` has been replayed; `as-recorded` is a copy from before."""
    made = Lean(tmp_path_factory.mktemp("lean"), build)
    made.record("job")
    made.copy("as-recorded", "job")
    made.agrees("job")
    return made


def hash_at(recording: RankRecording, event: int) -> int:
    """Of memory, as it was recorded."""
    for place in recording.index.of_kind(Kind.HASH):
        record = recording.index.record(place)
        if record.event == event:
            return record.result & (1 << 64) - 1
    raise AssertionError(f"no hash at event {event}")


def reaches(recording: RankRecording, event: int, checkpoint: int | None = None) -> None:
    """A replica at that event has the memory that was recorded."""
    replica = Replica.start(recording, checkpoint)
    try:
        stop = replica.agent.run(event)
        assert (stop.reason, stop.event) == (StopReason.TARGET, event), stop.text
        assert replica.agent.hash() == hash_at(recording, event)
    finally:
        replica.close()


def test_the_log_has_no_large_message(lean: Lean) -> None:
    """Except for those of collectives, and those with gaps in the receiver's memory."""
    for rank in lean.job("as-recorded").all_ranks():
        left_out = read_payloads(rank.path).received
        assert sum(one.size_bytes for one in left_out) > 7_000_000
        assert all(one.size_bytes >= LARGE for one in left_out)
        events = {one.event for one in left_out}
        assert len(events) > 40
        for event in events:
            assert all(len(chunk.data) < LARGE for chunk in rank.event(event).chunks if chunk.addr)


def test_all_of_it_is_made_once(lean: Lean) -> None:
    job = lean.job("job")
    for rank in job.all_ranks():
        assert (rank.path / PAYLOAD).stat().st_size > 7_000_000
        assert not (rank.path / PART).exists()
    assert "which are regenerated" in lean.rdb("info", "job").stdout
    assert "regenerated when they are needed" in lean.rdb("info", "as-recorded").stdout
    again = lean.rdb("expand", "job")
    assert (again.returncode, again.stderr) == (0, "rdb: job is expanded already\n")


def test_a_message_leads_to_its_sender(lean: Lean) -> None:
    """The matching that a plan is made from is that of all other commands."""
    job = lean.job("as-recorded")
    messages = Messages(job)
    for rank in job.all_ranks():
        for payload in read_payloads(rank.path).received:
            received = [
                one for one in rank.receives(payload.event) if one.order == payload.order
            ] or [None]
            if received[0] is not None:
                assert messages.sent_as(rank.rank, received[0]).event > 0


def test_a_replica_has_made_what_it_needs(lean: Lean) -> None:
    """And no more than up to its next checkpoint."""
    rank = lean.copy("asked").rank(0)
    first = read_payloads(rank.path).received[0].event
    reaches(rank, first - 1)
    assert not (rank.path / PART).exists()
    reaches(rank, first)
    assert (rank.path / PART).exists()
    assert not (rank.path / PAYLOAD).exists()
    reaches(rank, rank.last_event)


def test_replicas_ask_at_the_same_time(lean: Lean) -> None:
    job = lean.copy("together")
    ranks = [job.rank(number % RANKS) for number in range(2 * RANKS)]
    with ThreadPoolExecutor(len(ranks)) as pool:
        list(pool.map(lambda one: reaches(one, one.last_event), ranks))


def test_a_damaged_message_is_made_again(lean: Lean) -> None:
    rank = lean.copy("damaged").rank(1)
    reaches(rank, rank.last_event)
    one = read_payloads(rank.path).received[5]
    with (rank.path / PART).open("r+b") as file:
        file.seek(one.offset + one.size_bytes // 3)
        file.write(b"other")
    reaches(rank, rank.last_event)


def test_a_damaged_file_of_all_messages_is_told(lean: Lean) -> None:
    lean.copy("changed", "job")
    path = lean.home / "changed" / "rank-1" / PAYLOAD
    path.write_bytes(bytes(path.stat().st_size))
    done = lean.rdb("replay", "changed")
    assert done.returncode == 5
    assert "`payload` beside the log differs from the recording" in done.stderr
    assert done.stdout.count("hashes agree") == RANKS - 1


def test_a_sender_that_is_not_there(lean: Lean) -> None:
    job = lean.copy("absent")
    shutil.rmtree(job.rank(2).path)
    done = lean.rdb("replay", "absent")
    assert done.returncode == 5
    said = [line for line in done.stderr.splitlines() if "cannot be regenerated" in line]
    assert len(said) == 1
    assert "there is no recording of rank 2, which sent it" in said[0]
    told = re.search(r"regenerated ([\d,]+) bytes", done.stderr)
    made = sum(
        one.size_bytes
        for rank in lean.job("absent").all_ranks()
        for one in read_payloads(rank.path).received
        if Made(rank.path).has(one.offset)
    )
    assert made == (int(told[1].replace(",", "")) if told else 0)
    replica = Replica.start(lean.job("absent").rank(0))
    try:
        stop = replica.agent.run()
    finally:
        replica.close()
    assert stop.reason == StopReason.DIVERGED
    assert "there is no recording of rank 2, which sent it" in stop.text


def test_a_sender_of_another_run_is_told(lean: Lean) -> None:
    lean.record("other", "data", "5")
    job = lean.copy("mixed")
    shutil.rmtree(job.rank(1).path)
    shutil.copytree(lean.home / "other" / "rank-1", job.path / "rank-1")
    for stored in (lean.home / "other" / "files").iterdir():
        shutil.copy(stored, job.path / "files" / stored.name)
    done = lean.rdb("replay", "mixed")
    assert done.returncode == 5
    assert "sends other bytes at event" in done.stderr
    assert not list(job.path.glob(f"rank-*/{PAYLOAD}"))


def test_a_rank_that_was_killed_while_it_sent(lean: Lean) -> None:
    """Its log lacks the send, but its replay asks for it."""
    lean.record("unsent", "unsent", code=137)
    lean.copy("unsent-asked", "unsent")
    rank = lean.job("unsent-asked").rank(0)
    newest = read_payloads(rank.path).received[-1]
    assert newest.event > lean.job("unsent").rank(1).last_event or newest.peer == 1
    reaches(rank, newest.event)
    lean.agrees("unsent")


def test_several_threads_call_mpi(lean: Lean) -> None:
    lean.record("threads", "threads")
    for rank in lean.job("threads").all_ranks():
        assert len(read_payloads(rank.path).received) == 6
    lean.agrees("threads")


def test_a_call_that_sends_may_end_after_its_message_was_needed(lean: Lean) -> None:
    """Each rank's send has the event at which its call ends, and each comes after the receive of
    the other thread: by events alone both ranks would wait for each other."""
    lean.record("crossed", "crossed")
    lean.agrees("crossed")


def test_from_checkpoints(lean: Lean) -> None:
    """The senders' replays begin at one, too."""
    lean.record("images", options=(*EACH, "--checkpoint-every", "30events"))
    lean.copy("images-all", "images")
    rank = lean.job("images").rank(1)
    assert len(rank.images) > 3
    last = rank.images[-2]
    reaches(rank, rank.last_event, last.number)
    asked = read_payloads(rank.path).received
    marks = (rank.path / MARKS).read_bytes()
    assert not any(marks[: asked[0].offset // LARGE * 8 + 8])  # long before that checkpoint
    lean.agrees("images-all")


@needs_mpich
@pytest.mark.parametrize("how", ["", "threads", "crossed", "truncated"])
def test_over_mpich(lean: Lean, build: Build, how: str) -> None:
    program = str(build("mpi/large_messages.c", "-O1", "-w", compiler="mpicc.mpich"))
    name = f"mpich-{how}"
    line = ["run", "-n", str(RANKS), "--name", name, "--record=lean", "--mpi", "mpich", *EACH]
    done = lean.rdb(*line, "--", program, how)
    assert done.returncode == 0, done.stderr
    assert read_payloads(lean.job(name).rank(0).path).received
    lean.agrees(name)


def test_processes_that_join_the_job(lean: Lean) -> None:
    """Their messages among themselves are left out; those between the two worlds are not."""
    lean.record("joined", "spawn")
    job = lean.job("joined")
    assert [len(read_payloads(rank.path).received) for rank in job.all_ranks()] == [1] * 5
    lean.agrees("joined", ranks=5)


@pytest.mark.parametrize("shell", ["exec {}", "{}; true"])
def test_of_a_program_that_a_shell_runs(lean: Lean, shell: str) -> None:
    """Its recording is not that of its rank's first process."""
    name = f"shell-{shell[0] == 'e'}"
    line = ["run", "-n", str(RANKS), "--name", name, "--record=lean", *EACH, "--", "sh", "-c"]
    done = lean.rdb(*line, shell.format(f"{lean.program} waited"))
    assert done.returncode == 0, done.stderr
    rank = lean.job(name).rank(0)
    assert rank.path.name != "rank-0"
    reaches(rank, rank.last_event)


def test_a_pack_has_all_messages(lean: Lean) -> None:
    lean.copy("packed")
    out = str(lean.folder / "packed.rdb")
    done = lean.rdb("pack", "packed", "--ranks", "1", "-o", out)
    assert done.returncode == 0, done.stderr
    replayed = lean.rdb("replay", out)
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.count("hashes agree") == 1


def test_a_session_goes_back_over_messages(lean: Lean) -> None:
    lean.copy("session")
    (lean.folder / "script").write_text(
        "focus 0\nbreak came\nreverse-continue\nreverse-continue\nprint in[3] != 0\nundo\n"
    )
    done = lean.rdb("attach", "session", "-x", "script")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "$1 = 1" in done.stdout
    assert (lean.home / "session" / "rank-0" / PART).exists()


def test_a_restart(lean: Lean) -> None:
    lean.record("restarted", "waited")
    event = lean.job("restarted").rank(0).last_event // 2
    at = ("--rank", "0", "--at", str(event), "--name", "branch", "--mpi", "openmpi")
    done = lean.rdb("restart", "restarted", *at)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("rank ") == RANKS
    again = lean.rdb("replay", "branch")
    assert again.returncode == 0, again.stderr


def test_what_it_excludes(lean: Lean) -> None:
    done = lean.rdb("run", "--record=lean", "--keep", "2", "--", lean.program)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "--keep drops what other ranks' messages are made from" in done.stderr
