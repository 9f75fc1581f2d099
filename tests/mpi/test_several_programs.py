"""Jobs of several programs that mpirun starts side by side."""

from __future__ import annotations

from pathlib import Path

import deadlines
import mpis
import pytest
from conftest import Build, Rdb, replay_agrees

WORDS = ("ocean", ":", "-n", "2", "--")


@pytest.mark.parametrize("mpi", ("openmpi", "mpich"))
def test_one_job(mpi: str, build: Build, rdb: Rdb, tmp_path: Path) -> None:
    mpis.needs(mpi)
    ocean = build("mpi/coupled.c", compiler=mpis.MPICC[mpi])
    ice = build("mpi/coupled.c", "-DICE", compiler=mpis.MPICC[mpi])
    line = [*mpis.MPIRUN[mpi], "-n", "1", ocean, "ocean", ":", "-n", "2", ice, "ice"]
    native = deadlines.native(line, check=False)
    if native.returncode != 0:  # Open MPI 5.0.7's
        pytest.skip(f"{mpi}'s mpirun cannot start two programs: {native.stderr[-300:]}")
    done = rdb("run", "--name", "both", "--mpi", mpi, "-n", "1", "--", ocean, *WORDS, ice, "ice")
    assert done.returncode == 0, done.stderr
    assert "recorded job both (3 ranks, exit code 0)" in done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(native.stdout.splitlines())
    replay_agrees(rdb, "both")
    found = rdb("bisect", "both", "heat >= 0")
    assert "first turned false in rank 2" in found.stdout, found
    assert "heat = -heat;" in found.stdout
    live = rdb("restart", "both", "--at", "8", "--name", "again")
    assert (live.returncode, sorted(live.stdout.splitlines())) == (
        0,
        sorted(native.stdout.splitlines()),
    ), live.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((":", "-n", "1", "/bin/true"), "no program before the first ':'"),
        (("/bin/true", ":"), "nothing after ':'"),
        (("/bin/true", ":", "/bin/true"), "/bin/true after ':'"),
        (("/bin/true", ":", "-n", "0", "/bin/true"), "cannot use -n 0 after ':'"),
        (("/bin/true", ":", "-x", "A", "-n", "1", "/bin/true"), "cannot use -x A after ':'"),
        (("/bin/true", ":", "-n", "1", "--"), "-n 1 -- after ':'"),
    ],
)
def test_words_that_make_no_sense(words: tuple[str, ...], says: str, rdb: Rdb) -> None:
    done = rdb("run", "-n", "1", "--", *words)
    assert done.returncode == 2
    assert says in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_colon_is_an_argument_of_a_program_alone(rdb: Rdb) -> None:
    done = rdb("run", "--name", "alone", "--", "/bin/echo", "a", ":", "b")
    assert (done.returncode, done.stdout) == (0, "a : b\n"), done.stderr
