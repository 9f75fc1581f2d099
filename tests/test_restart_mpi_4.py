"""rdb restart of MPI jobs with what MPI-4 added: exchanges in one request."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

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


def test_exchanges_of_a_branch(exchanges: Recorded) -> None:
    rank, event, _ = next(one for one in exchanges.cuts(23) if one[2].under_way)
    branch = exchanges.branch(rank, event)
    for place in itertools.islice(branch.cuts(24), MANY or 2):
        branch.restart(*place, mpi="mpich")
    exchanges.rdb("rm", branch.name)
