"""Short records and cycles: what they save, and that readers give the events whole."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build
from mpijob import Job, record

from rdb.recording import Kind
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Note, Record

TURNS = 2000
HASH_EVERY = 1000
PAUSE_NS = 800_000
"""Not more than PAUSE_TICKS (log_cycle.c): of calls that are further apart the times are kept."""

WHOLE_NS = 1 << 32
"""A call that comes so long after its model (log_short.h) is written whole, and is a model."""


@pytest.fixture(scope="module")
def job(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Job:
    program = build("mpi/loops.c", "-O1")
    return record(tmp_path_factory.mktemp("job"), 2, program, str(TURNS), hash_every=HASH_EVERY)


@pytest.fixture(scope="module")
def numbers() -> dict[str, int]:
    return {function["name"]: function["nr"] for function in mpi_functions()}


def calls(job: Job, rank: int, number: int) -> list[Record]:
    return [r for r in job.rank(rank).records() if r.kind is Kind.HYPERCALL and r.nr == number]


def test_its_replay_is_the_recording(job: Job) -> None:
    assert job.result.returncode == 0, job.result.stderr
    assert "0: got 1 1" in job.result.stdout
    job.expect_equal()


def test_values_and_notes_of_short_records(job: Job, numbers: dict[str, int]) -> None:
    """Each receive has its own bytes and its own place in the order."""
    received = calls(job, 0, numbers["MPI_Recv"])
    assert len(received) == TURNS
    values = [struct.unpack("<i", r.written(r.args[0], 4))[0] for r in received]
    assert values == [1000 + i for i in range(TURNS)]
    orders = [
        struct.unpack_from("<Q", chunk.data, 24)[0]
        for r in received
        for chunk in r.chunks
        if not chunk.addr and chunk.note == Note.RECV
    ]
    assert orders == list(range(3, 3 + TURNS))  # two were posted before
    assert all(a.at_ns <= b.at_ns for a, b in itertools.pairwise(received))


def test_polls_that_take_turns_are_all_there(job: Job, numbers: dict[str, int]) -> None:
    tests = calls(job, 0, numbers["MPI_Test"])
    probes = calls(job, 0, numbers["MPI_Iprobe"])
    assert sum(1 + r.repeat for r in tests) == 2 * TURNS
    assert sum(1 + r.repeat for r in probes) == TURNS
    assert len({r.args[0] for r in tests}) == 2
    events = [(r.event, r.nr, r.args[0]) for r in sorted(tests + probes, key=lambda r: r.event)]
    assert [e for e, _, _ in events] == list(range(events[0][0], events[0][0] + 3 * TURNS))
    assert [e[1:] for e in events] == [e[1:] for e in events[:3]] * TURNS


def test_what_they_take(job: Job, numbers: dict[str, int]) -> None:
    """A loop of polls takes next to nothing; a turn that sends and receives a small message takes
    88 bytes.  What comes before the loops depends on the C library, and is left out.
    """
    records = list(job.rank(0).records())
    hashes = job.rank(0).last_event // HASH_EVERY + 1

    def taken(first: Record, last: Record) -> int:
        """Bytes of the log from one record to the other, without hashes."""
        assert first._entry[4] == last._entry[4], "they are in one segment"
        start, end = first._entry[3], last._entry[3]
        between = (r for r in records if r.kind is Kind.HASH and start <= r._entry[3] < end)
        return end - start - sum(r._entry[5] for r in between)

    sends, received = calls(job, 0, numbers["MPI_Send"]), calls(job, 0, numbers["MPI_Recv"])
    first = calls(job, 0, numbers["MPI_Test"])[0]
    pauses = (sends[0].at_ns - first.at_ns) // PAUSE_NS  # many, where a yield takes a slice
    polls = taken(first, sends[0])
    assert polls < 24 * 12 * (hashes + pauses), polls
    messages = taken(sends[1], received[-1])
    whole = 1 + (received[-1].at_ns - sends[1].at_ns) // WHOLE_NS
    assert messages < 88 * TURNS + 1024 * whole, messages  # the first turn is written whole


SHORT, CYCLE, HEADER = 1, 2, 32  # log_format.h


def growing(log: bytes) -> Iterator[bytes]:
    """A log as it was while it was written: some of its records more each time; the last one, if it
    counts, half of the count first."""
    at, records = HEADER, []
    while at < len(log) and (size := struct.unpack_from("<I", log, at)[0]):
        records.append((at, CYCLE if size & CYCLE else size & SHORT))
        at += 24 if size & CYCLE else size & ~(SHORT | CYCLE)
    ends = [at for at, _ in records[1:]] + [at]
    cycles = 0
    for number, ((at, kind), end) in enumerate(zip(records, ends, strict=True)):
        (count,) = struct.unpack_from("<I", log, at + 8)
        cycles += kind == CYCLE
        if (kind == CYCLE and cycles < 4) or (kind == 0 and count and number % 5 == 0):
            half = struct.pack("<II", count // 2, ~(count // 2) & 0xFFFFFFFF)
            yield log[: at + 8] + half + log[at + 16 : end]
        if number % 97 == 0 or number == len(records) - 1 or (kind == CYCLE and cycles < 4):
            yield log[:end]


def test_a_log_that_grows_is_read_on(job: Job, tmp_path: Path) -> None:
    """It is as if it were read anew, and what was known is not read again."""
    (segment,) = (job.path / "rank-0").glob("log-*.seg")
    log, room = segment.read_bytes(), bytes(4096)
    path = tmp_path / segment.name
    index, steps = None, 0
    for written in growing(log):
        with path.open("r+b" if index else "w+b") as file:
            file.write(written + bytes(len(log) - len(written)) + room)
        whole = LogIndex(tmp_path)
        if index is None:
            index = LogIndex(tmp_path)
        else:
            before, known = index.read, index.count
            assert index.more(), len(written)
            assert index.read - before <= index.count - known + 1
        assert bytes(index._view) == bytes(whole._view), len(written)
        for kind in Kind:
            assert list(index.of_kind(kind)) == list(whole.of_kind(kind))
        assert index.highest_thread() == whole.highest_thread()
        steps += 1
    assert steps > 10 and index is not None and index.of_kind(Kind.END)
