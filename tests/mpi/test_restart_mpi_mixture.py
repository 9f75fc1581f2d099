"""rdb restart of an MPI job that has something of nearly all that MPI-3.1 has, at any event.

Over the MPI of the recording and over the other one it says what it would have said.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from conftest import Build
from events import events_called
from test_restart_mpi import MANY, Recorded

from rdb.live.cut.consistent import Cut


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("mixture"), build("mpi/restarted_mixture.c", "-w"))


def test_all_that_may_be_pending(mixture: Recorded) -> None:
    for number, place in enumerate(itertools.islice(mixture.cuts(31), MANY or 4)):
        mixture.restart(*place, mpi=("mpich", "openmpi")[number % 2])


def sent_on_what_was_freed(mixture: Recorded, cut: Cut) -> bool:
    """Is a message under way whose sender has freed the communicator that it left on?"""
    return any(
        one.sent < freed <= cut.events[one.source]
        for one in cut.under_way
        for freed in events_called(mixture.job.rank(one.source), "MPI_Comm_free")
    )


@pytest.mark.slow
def test_and_of_a_branch(mixture: Recorded) -> None:
    """Each branch writes down what it began with in MPI, whichever that was."""
    places = [one for one in itertools.islice(mixture.cuts(32), 60) if one[2].under_way]
    rank, event, _ = max(places, key=lambda one: sent_on_what_was_freed(mixture, one[2]))
    branch = mixture.branch(rank, event, mpi="mpich")
    for place in itertools.islice(branch.cuts(33), MANY or 2):
        branch.restart(*place)
    mixture.rdb("rm", branch.name)


def test_recorded_over_the_other(tmp_path: Path, build: Build) -> None:
    over = Recorded(tmp_path, build("mpi/restarted_mixture.c", "-w"), mpi="mpich")
    for place in itertools.islice(over.cuts(34), MANY or 2):
        over.restart(*place, verify=MANY > 0)
