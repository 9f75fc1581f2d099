"""rdb restart of MPI jobs with what MPI-4 added: exchanges in one request, partitioned messages."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import openmpi
import pytest
from conftest import Build
from events import events_called
from test_restart_mpi import MANY, Recorded


def recorded(folder: Path, build: Build, name: str) -> Recorded:
    """Built for MPICH, whose mpi.h has these functions."""
    program = build(f"mpi/{name}.c", "-O1", "-w", compiler="mpicc.mpich")
    return Recorded(folder, program, mpi="mpich")


@pytest.fixture(scope="module")
def exchanges(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return recorded(tmp_path_factory.mktemp("exchanges"), build, "restarted_exchanges")


@pytest.mark.slow
def test_exchanges_in_one_request(exchanges: Recorded) -> None:
    """Over an MPI without them as well."""
    for number, place in enumerate(itertools.islice(exchanges.cuts(21), MANY or 4)):
        exchanges.restart(*place, mpi=("mpich", "openmpi")[number % 2])


def test_what_a_pending_exchange_waits_for_is_known(exchanges: Recorded) -> None:
    """It is a receive, which the message of one sender is for."""
    job = exchanges.job
    posted = events_called(job.rank(0), "MPI_Isendrecv(")[0]
    messages = exchanges.rdb("messages", "job", "--rank", "0", "--at", str(posted), "--json")
    assert messages.returncode == 0, messages.stderr
    (rank,) = json.loads(messages.stdout)
    assert [(one["source"], one["tag"], one["count"]) for one in rank["posted"]] == [(3, 1, 60)]


@pytest.mark.slow
def test_exchanges_of_a_branch(exchanges: Recorded) -> None:
    rank, event, _ = next(one for one in exchanges.cuts(23) if one[2].under_way)
    branch = exchanges.branch(rank, event)
    for place in itertools.islice(branch.cuts(24), MANY or 2):
        branch.restart(*place, mpi="mpich")
    exchanges.rdb("rm", branch.name)


@pytest.fixture(scope="module")
def partitioned(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return recorded(tmp_path_factory.mktemp("partitioned"), build, "restarted_partitioned")


def test_partitioned_messages(partitioned: Recorded) -> None:
    """Some parts ready, some there, and changed by the program since."""
    for place in itertools.islice(partitioned.cuts(25), MANY or 4):
        partitioned.restart(*place, mpi="mpich")


@pytest.mark.slow
def test_partitioned_messages_of_a_branch(partitioned: Recorded) -> None:
    pending = events_called(partitioned.job.rank(0), "MPI_Pready(")[2]
    rank, event, _ = next(one for one in partitioned.cuts(26) if one[1] > pending)
    branch = partitioned.branch(rank, event, mpi="mpich")
    for place in itertools.islice(branch.cuts(27), MANY or 2):
        branch.restart(*place, mpi="mpich")
    partitioned.rdb("rm", branch.name)


def test_an_mpi_that_cannot_do_it(partitioned: Recorded) -> None:
    """Open MPI 4 has no partitioned messages; 5 sends what is not ready when they start again."""
    at = str(events_called(partitioned.job.rank(0), "MPI_Pready(")[1])
    done = partitioned.rdb("restart", "job", "--at", at, "--mpi", "openmpi", "--name", "refused")
    assert done.returncode == 125, done.stderr
    if openmpi.release() >= 5:
        assert "regards partitions that are not ready as sent" in done.stderr
    else:
        assert "send_init: it succeeded in the recording and fails over openmpi" in done.stderr
    partitioned.rdb("rm", "refused")


def test_no_cut_goes_through_a_transfer(partitioned: Recorded) -> None:
    """Seen in another way than they are made: by the calls that start and complete them."""
    for _, _, cut in itertools.islice(partitioned.cuts(28), MANY or 20):
        ends = set()
        for rank, until in cut.events.items():
            recording = partitioned.job.rank(rank)
            calls = [recording.describe(event) for event in range(1, until + 1)]
            names = [call.partition("(")[0] for call in calls]
            ends.add((names.count("MPI_Waitall"), names.count("MPI_Request_free") // 2))
        waits = {wait for wait, _ in ends}
        assert len(waits) == 1
