"""Which send a receive received, and where values come from over several ranks."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from conftest import Build, Rdb
from mpijob import lines, record
from mpis import needs
from mpis import record as record_over

from rdb.errors import RdbError
from rdb.recording import Kind, RankRecording
from rdb.recording.log.record import Note, Receive
from rdb.recording.messages.messages import Messages

_MESSAGE = struct.Struct("<5i")  # struct message of programs/mpi/channels.c


class _Job:
    def __init__(self, ranks: list[RankRecording]) -> None:
        self._ranks = ranks
        self.ranks = list(range(len(ranks)))

    def rank(self, rank: int) -> RankRecording:
        return self._ranks[rank]


def arrivals(recording: RankRecording) -> list[tuple[Receive, bytes]]:
    """What was received, with the bytes that the log has in front of each note."""
    found = []
    for one in recording.records():
        data = b""
        for chunk in one.chunks if one.kind is Kind.HYPERCALL else ():
            if chunk.addr:
                data = data or bytes(chunk.data)
            elif chunk.note == Note.RECV:
                found.append((Receive.of(one, chunk), data))
                data = b""
    return found


@pytest.mark.parametrize("below", ["openmpi", "mpich"])
def test_communicators_that_ranks_number_differently(
    below: str, build: Build, tmp_path: Path
) -> None:
    needs("openmpi", below)
    job = record_over(tmp_path, below, 3, build("mpi/contexts.c", "-O1"))
    assert job.result.returncode == 0, job.result.stderr
    messages = Messages(_Job([job.rank(rank) for rank in range(3)]))
    found = {
        one.tag: (messages.sent_as(rank, one).rank, rank)
        for rank in range(3)
        for one, _ in arrivals(job.rank(rank))
    }
    assert found == {1: (0, 1), 2: (2, 1), 3: (2, 0), 4: (0, 2), 6: (0, 2)}


@pytest.mark.parametrize("ranks", [2, 3])
def test_every_receive_finds_its_send(ranks: int, build: Build, tmp_path: Path) -> None:
    """Messages of many channels, interleaved, received in all ways, completed out of order."""
    job = record(tmp_path, ranks, build("mpi/channels.c", "-O1"))
    assert lines(job.result) == [f"{rank}: wrong 0" for rank in range(ranks)]
    messages = Messages(_Job([job.rank(rank) for rank in range(ranks)]))
    seen = set()
    for rank in range(ranks):
        received = arrivals(job.rank(rank))
        assert len(received) == 2 * ranks * 2 * 12
        for one, data in received:
            source, to, comm, tag, number = _MESSAGE.unpack(data)
            send = messages.sent_as(rank, one)
            assert (send.rank, rank, one.tag) == (source, to, tag)
            channel, place = messages.communication(rank).numbered(one)
            assert place == number, (channel, one)
            assert messages.of(source).sends[(rank, *channel[1:])][number].event == send.event
            seen.add((source, send.event, comm, number))
    assert len(seen) == ranks * 2 * ranks * 2 * 12, "no send was given to two receives"


def test_a_send_that_is_not_recorded_is_said(build: Build, tmp_path: Path) -> None:
    job = record(tmp_path, 2, build("mpi/channels.c", "-O1"))
    ranks = [job.rank(0), job.rank(1)]
    messages = Messages(_Job(ranks))
    one, _ = next(pair for pair in arrivals(ranks[0]) if pair[0].source == 1)
    messages.of(1).sends.clear()
    with pytest.raises(RdbError, match="recording of rank 1 ends before the send"):
        messages.sent_as(0, one)


def test_origin_follows_a_value_over_ranks(rdb: Rdb, build: Build) -> None:
    """relay.c: rank 1 spoils what rank 0 gave it; rank 2 gets that."""
    rdb("run", "--name", "relay", "-n", "3", "--", build("mpi/relay.c", "-O0"))
    said = rdb(
        "attach", "relay", stdin=None, input="focus 2\norigin got\nundo\nfocus\nquit\n"
    ).stdout
    table = [line.split() for line in said.splitlines() if "-8" in line]
    assert [row[0] for row in table] == ["2", "1", "1"]
    assert re.search(r"turn \(\) at relay\.c:22 +received from rank 1", said)
    assert re.search(r"turn \(\) at relay\.c:23 +returned by relay", said)
    assert re.search(r"relay \(\) at relay\.c:13 +computed", said)
    assert "relay [1] " in said, "the focus is where the value was made"
    assert "undid origin got" in said
    assert "relay [2] end> focus" in said, "and comes back"


def test_origin_over_two_hops(rdb: Rdb, build: Build) -> None:
    """What each rank hands on unchanged was made in the rank that began."""
    rdb("run", "--name", "passing", "-n", "3", "--", build("mpi/passing.c", "-O0"))
    said = rdb("attach", "passing", stdin=None, input="focus 2\norigin value[2]\nquit\n").stdout
    rows = [line for line in said.splitlines() if " passing.c:" in line]
    assert [row.split()[0] for row in rows] == ["2", "1", "1", "0", "0"], said
    assert [row.rstrip().endswith("sent") for row in rows] == [False, True, False, True, False]
    assert rows[-1].rstrip().endswith("computed")
