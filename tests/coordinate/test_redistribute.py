"""A job goes on from a checkpoint with another number of ranks: anew, with the arrays of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import INCLUDE, PROGRAMS, Build, Rdb, replay_agrees
from hypothesis import given
from hypothesis import strategies as st

from rdb.hooks import Rows, block, cyclic

MPIS = pytest.mark.parametrize("mpi", ["openmpi", "mpich"])


def _sums(done: subprocess.CompletedProcess[str], began: str) -> str:
    """BEGAN: what rank 0 says at its start.  A checkpoint may come a step later than asked for."""
    assert done.returncode == 0, done.stderr
    assert re.search(f"^{began} on$", done.stdout, re.MULTILINE) or not began, done.stdout
    found = re.search(r"^rod \w+ table \w+$", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return found[0]


@MPIS
def test_from_4_ranks_to_3_to_8(mpi: str, rdb: Rdb, build: Build) -> None:
    """The last one is recorded: a replay finds the arrays in its log."""
    program = str(build("mpi/redistribute.c", f"-I{INCLUDE}", compiler=f"mpicc.{mpi}"))
    line = ("--record=off", "--mpi", mpi, "-n", "4", "--name", "four", "--", program, "5")
    sums = _sums(rdb("run", *line), "4 ranks from step 0")
    assert _sums(rdb("restart", "four"), "") == sums
    three = rdb("restart", "four", "-n", "3", "--name", "three")
    assert _sums(three, "3 ranks from step [56]") == sums
    assert "starts anew with rod, step, table of checkpoint 1 of four" in three.stderr
    eight = rdb("restart", "three", "-n", "8", "--record", "full", "--name", "eight")
    assert _sums(eight, "8 ranks from step 1[34]") == sums
    replay_agrees(rdb, "eight")


def test_more_ranks_than_rows(rdb: Rdb, build: Build) -> None:
    program = str(build("mpi/redistribute.c", f"-I{INCLUDE}", compiler="mpicc.openmpi"))
    line = ("--record=off", "--mpi", "openmpi", "-n", "2", "--name", "two", "--", program, "5", "3")
    sums = _sums(rdb("run", *line), "2 ranks from step 0")
    assert (
        _sums(rdb("restart", "two", "-n", "4", "--name", "four"), "4 ranks from step [56]") == sums
    )
    assert (
        _sums(rdb("restart", "four", "-n", "1", "--name", "one"), "1 ranks from step 1[34]") == sums
    )


@pytest.mark.parametrize("language", ["fortran", "python"])
def test_other_languages(language: str, rdb: Rdb, build: Build) -> None:
    if language == "fortran":
        program = [str(build("redistribute_fortran.f90", f"-I{INCLUDE}"))]
    else:
        program = [sys.executable, str(PROGRAMS / "python" / "redistribute.py")]
    whole = [f"row {' '.join([str(row + 40)] * 3)}" for row in range(11)]
    one = rdb("run", "--record=off", "--name", "one", "--", *program)
    assert one.returncode == 0, one.stderr
    assert [line for line in one.stdout.splitlines() if line] == whole
    three = rdb("restart", "one", "-n", "3", "--mpi", "openmpi", "--name", "three")
    assert three.returncode == 0, three.stderr
    assert sorted(re.findall(r"^row .*$", three.stdout, re.MULTILINE)) == sorted(whole)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("none", "distributes no array"),
        ("hole", "the array a23456789_123456789_123456789_1: no rank has row 3; row 4 is there"),
        ("sizes", "the array b has rows of 8 and of 16 bytes"),
        ("gone", "rank 0: rows of the array c were at 0x.*, where the program has no memory"),
        ("full", ""),
        ("moved", ""),
    ],
)
def test_what_makes_no_array(how: str, said: str, rdb: Rdb, build: Build, rdb_home: Path) -> None:
    program = str(build("redistribute_refused.c", f"-I{INCLUDE}"))
    ran = rdb("run", "--record=off", "--name", "job", "--", program, how)
    assert ran.stdout == "bad 0, asked 0\n", ran.stderr
    done = rdb("restart", "job", "-n", "2", "--mpi", "openmpi", "--name", "two")
    if not said:
        assert (
            done.returncode == 0 and f"anew with {'d' if how == 'full' else 'e'} of" in done.stderr
        )
        return
    assert done.returncode == (2 if how == "none" else 125), done.stderr
    assert re.search(said, done.stderr), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert not [one for one in (rdb_home / "job").glob("redistributed-*")]


def test_without_rdb_there_are_none(build: Build) -> None:
    program = str(build("redistribute_refused.c", f"-I{INCLUDE}"))
    native = subprocess.run([program, "none"], capture_output=True, text=True, check=True)
    assert native.stdout == "bad 0, asked -1\n"


def test_options_of_another_kind_of_restart(rdb: Rdb, build: Build) -> None:
    program = str(build("redistribute_refused.c", f"-I{INCLUDE}"))
    assert rdb("run", "--record=off", "--name", "job", "--", program, "full").returncode == 0
    for option in ("--in-place", "--plan"):
        done = rdb("restart", "job", "-n", "2", option)
        assert done.returncode == 2 and f"drop {option}" in done.stderr, done.stderr


def _numbers(rows: Rows) -> list[int]:
    return [
        rows.first + at // rows.block * rows.step + at % rows.block for at in range(rows.number)
    ]


@given(st.integers(0, 200), st.integers(1, 20), st.integers(1, 20))
def test_each_row_has_one_rank(total: int, size: int, ranks: int) -> None:
    blocks = [block(total, rank, ranks) for rank in range(ranks)]
    assert [row for rows in blocks for row in _numbers(rows)] == list(range(total))
    assert max(rows.number for rows in blocks) - min(rows.number for rows in blocks) <= 1
    cycles = [cyclic(total, size, rank, ranks) for rank in range(ranks)]
    assert sorted(row for rows in cycles for row in _numbers(rows)) == list(range(total))
