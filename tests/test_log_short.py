"""Short records and cycles: what they save, and that readers give the events whole."""

from __future__ import annotations

import itertools
import struct

import pytest
from conftest import Build
from mpijob import Job, record

from rdb.recording import Kind
from rdb.recording.describe import mpi_functions
from rdb.recording.record import Note, Record

TURNS = 2000
HASH_EVERY = 1000


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


def test_what_they_take(job: Job) -> None:
    """A loop of polls next to nothing, a small message in a loop less than 100 bytes."""
    hashes = job.rank(0).last_event // HASH_EVERY + 1
    sizes = [
        sum(path.stat().st_size for path in (job.path / f"rank-{rank}").glob("log-*.seg"))
        for rank in range(2)
    ]
    pages = sum(r._entry[5] for r in job.rank(0).records() if r.kind is not Kind.HYPERCALL)
    assert sizes[0] - pages < 24 * 12 * hashes + 80 * TURNS + 16384, (sizes, pages)
