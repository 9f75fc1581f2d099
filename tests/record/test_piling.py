"""A recording whose events pile up without progress says so, while it is recorded and later."""

from __future__ import annotations

from pathlib import Path

import mpis
import pytest
from conftest import Build, Rdb

from rdb.crc32c import crc32c

TOLD_AT = 4_000_000
"""As piling.c has it."""
PILE = f"{TOLD_AT} events in a row that received nothing and sent nothing: poll(2) ({TOLD_AT})"


@pytest.mark.parametrize("kind", ["stuck", "works"])
def test_events_that_pile_up_are_told(kind: str, build: Build, rdb: Rdb, rdb_home: Path) -> None:
    """`works` has as many, but puts out a byte now and then."""
    done = rdb("run", "--name", "it", "--", build("piling.c"), kind, TOLD_AT + 10_000)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "received nothing" in line]
    info = [line for line in rdb("info", "it").stdout.splitlines() if "received nothing" in line]
    if kind == "works":
        assert (told, info) == ([], [])
        return
    (said,), (kept,) = told, info
    assert said.startswith(f"rdb: {rdb_home}/it/rank-0: {PILE}; rdb attach ")
    assert kept.startswith("rank 0, events ") and kept.endswith(PILE)
    assert "may not replay" not in done.stderr


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("how", ["Iprobe", "Testsome"])
def test_calls_of_mpi_that_pile_up_are_named(mpi: str, how: str, build: Build, rdb: Rdb) -> None:
    mpis.needs(mpi)
    program = build("mpi/asking.c", "-O1", compiler=f"mpicc.{mpi}")
    turns = str(TOLD_AT + 10_000)
    done = rdb(
        "run", "--mpi", mpi, "--name", "it", "-n", "1", "--", program, how.lower(), "3", turns
    )
    assert done.returncode == 3, done.stderr
    told = [line for line in done.stderr.splitlines() if "received nothing" in line]
    info = [line for line in rdb("info", "it").stdout.splitlines() if "received nothing" in line]
    assert len(told) == len(info) == 1, (told, info)
    for line in (*told, *info):
        assert (
            f"{TOLD_AT} events in a row that received nothing and sent nothing: MPI_{how} (" in line
        )


def test_of_a_row_the_last_word_counts(rdb: Rdb, build: Build, rdb_home: Path) -> None:
    done = rdb("run", "--name", "it", "--", build("piling.c"), "stuck", 10)
    assert done.returncode == 0, done.stderr
    lines = [
        "events 7-10: 4 events",
        "event 9: it",
        "events 7-14: 8 events",
        "events 90-93: 4 events",
    ]
    (rdb_home / "it/rank-0/cautions").write_text(
        "".join(line + f" ~{crc32c(0, line.encode()):08x}\n" for line in lines)
    )
    info = [line for line in rdb("info", "it").stdout.splitlines() if line.startswith("rank 0, ")]
    assert info == [f"rank 0, {line}" for line in (lines[2], lines[1], lines[3])]
