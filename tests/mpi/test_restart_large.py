"""rdb restart of programs with more elements in a call than an int can count."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from events import events_called

from rdb.recording import open_job

PLACES = {
    "a message under way, a receive pending": ("MPI_Send(", 0, "openmpi"),
    "a persistent request started": ("MPI_Startall(", 2, "mpich"),
    "a collective": ("MPI_Ibcast(", 3, "openmpi"),
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, build: Build) -> tuple[Path, Counter[str]]:
    folder = tmp_path_factory.mktemp("large")
    program = build("mpi/restarted_large.c", "-O1", "-w", compiler="mpicc.mpich")
    line = ["run", "-n", "2", "--name", "job", "--mpi", "mpich", "--", str(program)]
    done = run_rdb(folder / "home", folder, *line)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("0 and 0") == 2
    return folder, Counter(done.stdout.splitlines())


@pytest.mark.parametrize("place", PLACES)
def test_it_goes_on(large: tuple[Path, Counter[str]], place: str) -> None:
    folder, said = large
    call, which, mpi = PLACES[place]
    at = events_called(open_job(folder / "home" / "job").rank(0), call)[which]
    line = ["restart", "job", "--at", str(at), "--name", "cut", "--mpi", mpi]
    done = run_rdb(folder / "home", folder, *line)
    assert done.returncode == 0, done.stderr
    assert Counter(done.stdout.splitlines()) == said
    verified = run_rdb(folder / "home", folder, "replay", "cut", "--verify")
    assert verified.returncode == 0, verified.stderr
    run_rdb(folder / "home", folder, "rm", "cut")
