"""rdb restart of an MPI job whose ranks were killed in the middle of calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, Rdb

from rdb.live.cut.consistent import Traffic
from rdb.recording import EndKind, open_job


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_what_it_had_sent_was_received(
    rdb: Rdb, rdb_home: Path, build: Build, tmp_path: Path, mpi: str
) -> None:
    """The log of the sender does not have the call: the receive is undone, too."""
    gate = tmp_path / "gate"
    line = ["-n", "2", "--name", "job", "--", build("mpi/killed_sender.c", "-O1"), gate]
    assert rdb("run", *line).returncode != 0
    job = open_job(rdb_home / "job")
    end = job.rank(0).end
    assert end is not None and end.kind is EndKind.SIGNAL
    receiver = job.rank(1)
    got = next(
        event
        for event in range(receiver.last_event + 1)
        if receiver.describe(event).startswith("MPI_Recv(")
    )
    assert Traffic(job).settled(1, job.rank(1).last_event) < got
    gate.touch()
    done = rdb("restart", "job", "--name", "on", "--mpi", mpi)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0: 11", "1: 10"]
    verified = rdb("replay", "on", "--verify")
    assert verified.returncode == 0, verified.stderr
