"""Queries over events: what is understood, what is refused, what they are true of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build, Rdb
from gdbdriver import DEADLINE_S, Recorded

from rdb.errors import Usage
from rdb.recording import open_job
from rdb.recording.query.find import find_events
from rdb.recording.query.query import Query

_SEGMENT_HEADER_BYTES = 32  # struct log_segment_header


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("query")
    made = Recorded(folder, build("searches.c", "-O0"), PROGRAMS / "searches.c")
    assert made.done.returncode == 0, made.done.stderr
    return made


def found(recorded: Recorded, query: str, **options: bool) -> list[str]:
    rank = open_job(recorded.home / "job").rank(0)
    return [rank.describe(one.record.event) for one in find_events(rank, Query(query), **options)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("write", ["1, ", "1, ", "2, ", "1, "]),
        ("write fd==2", ["2, "]),
        ("write and fd==2", ["2, "]),
        ("write not fd==1", ["2, "]),
        ("write fd in (2, 3)", ["2, "]),
        ("fd == 1 and name == write and bytes == 3", ["1, "]),
        ("name == 'write' and bytes*2 + 1 == 7", ["1, "]),
        ("close result<0", ["-1"]),
        ("errno == 'EBADF'", ["-1"]),
        ("errno == EBADF", ["-1"]),
        ("errno == 'ebadf'", ["-1"]),
        ("errno == 9", ["-1"]),
        ("errno in (ENOENT, -9) and close", ["-1"]),
        ("close result==-EBADF", ["-1"]),
        ("name == 'Write' && fd==2", ["2, "]),
        ("name in ('WRITE', read) and !(fd==1)", ["3, ", "2, "]),
        ("(read || close) && fd == -1", ["-1"]),
        ("'RIT' in name and fd==2", ["2, "]),
        ("kind == 'SYSCALL' and fd==2", ["2, "]),
        ("write and kind == signal", []),
        ("name == 'MPI_Recv'", []),
        ("read or close and fd == -1", ["3, ", "-1"]),
        ("4 <= bytes < 5 and fd == 3", ["3, "]),
        ("mpi", []),
        ("sigusr1", []),
        ("write fd==77", []),
    ],
)
def test_what_it_finds(recorded: Recorded, query: str, expected: list[str]) -> None:
    texts = found(recorded, query)
    assert len(texts) == len(expected)
    for text, one in zip(texts, expected, strict=True):
        assert text.partition("(")[2].startswith(one)
    assert found(recorded, query, backwards=True) == texts[::-1]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "read fd ==",
        "__import__('os').system('true')",
        "print(1)",
        "(lambda: 1)()",
        "fd ** 2 == 4",
        "1 << 1000000 == 0",
        "[x for x in (1,)]",
        "kind.__class__",
        "'%s' % name",
        "f'{name}'",
        "name is None",
        "name == 'MPI_Rcv'",
        "name == nosuch",
        "name in (read, 'nosuch')",
        "kind == 'nosuch'",
        "errno == 'ENOSUCH'",
        "errno == 0",
        "signal == 'SIGNOSUCH'",
        "signal == 0",
        "signal > SIGHUP",
        "status == 'nosuch'",
        "operation == 'nosuch'",
        "fd == 'one'",
        "rank in ('0', '1')",
        "'1' in fd",
        "time > 'x'",
        "read, write",
        "(read, write)",
        "read and [write]",
        "name",
        "not kind",
        "fd == read",
        "x" * 5000,
        "(" * 2000 + "1" + ")" * 2000,
        "a\0b",
    ],
)
def test_what_it_refuses(recorded: Recorded, query: str) -> None:
    with pytest.raises(Usage):
        found(recorded, query)


@pytest.mark.parametrize(
    "query",
    [
        "SIGUSR1",
        "signal == SIGUSR1",
        "signal == 'usr1'",
        "signal == 10",
        "signal in (USR1, 'HUP')",
        "name == SIGUSR1",
        "name == 'sigusr1'",
        "kind == signal and 'Usr1' in name",
    ],
)
def test_a_signal_by_all_its_names(rdb: Rdb, rdb_home: Path, query: str) -> None:
    line = "trap : USR1 TERM; kill -USR1 $$; kill -TERM $$"
    assert rdb("run", "--name", "job", "--", "sh", "-c", line).returncode == 0
    rank = open_job(rdb_home / "job").rank(0)
    (one,) = find_events(rank, Query(query))
    assert one.record.nr == signal.SIGUSR1


def test_constants_of_mpi(rdb: Rdb, rdb_home: Path, build: Build) -> None:
    line = ["-n", "2", "--name", "job", "--", build("mpi/steps.c", "-O1"), "3"]
    assert rdb("run", *line).returncode == 0
    rank = open_job(rdb_home / "job").rank(0)

    def count(query: str) -> int:
        return sum(len(one.events) for one in find_events(rank, Query(query)))

    assert count("mpi.allreduce op==MPI_SUM") == count("op==SUM && datatype==DOUBLE") == 3
    assert count("mpi.allreduce op==MPI_MAX") == count("op==SUM and comm==MPI_COMM_SELF") == 0
    assert count("mpi.sendrecv dest!=MPI_PROC_NULL and sendtag!=MPI_ANY_TAG") == 3
    with pytest.raises(Usage):
        Query("op==MPI_SAM")


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(Usage) as raised:
        Query("mpi.rcv source==3")
    assert raised.value.hint == "did you mean mpi.recv?"


def rdb(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return deadlines.run(
        [sys.executable, "-m", "rdb", *arguments],
        DEADLINE_S,
        env={**os.environ, "RDB_HOME": str(home)},
    )


def test_from_the_command_line(recorded: Recorded) -> None:
    done = rdb(recorded.home, "find-event", "job", "write fd==1", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["rank"] for row in rows] == [0, 0, 0]
    assert all(row["text"].startswith("write(1, ") for row in rows)
    shown = rdb(recorded.home, "find-event", "job", "write fd==1", "--limit", "2")
    assert shown.stdout.splitlines()[0].split() == ["RANK", "EVENT", "SECONDS", "WHAT"]
    assert len(shown.stdout.splitlines()) == 3
    for way, place in (("--next", 0), ("--prev", -1)):
        one = rdb(recorded.home, "find-event", "job", "write fd==1", way, "--json")
        assert json.loads(one.stdout) == [rows[place]]
    counted = rdb(recorded.home, "find-event", "--count", "job", "write fd==1")
    assert [line.split() for line in counted.stdout.splitlines()] == [
        ["RANK", "EVENTS"],
        ["0", "3"],
    ]
    no = rdb(recorded.home, "find-event", "--count", "--json", "job", "write fd==9")
    assert (json.loads(no.stdout), no.returncode) == ([{"rank": 0, "count": 0}], 1)
    assert rdb(recorded.home, "find-event", "--count", "--all", "job", "write").returncode == 2
    none = rdb(recorded.home, "find-event", "job", "write fd==9")
    assert (
        none.returncode == 1 and "the query is true of no event of job: write fd==9" in none.stderr
    )
    wrong = rdb(recorded.home, "find-event", "job", "wrte")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "did you mean write?" in wrong.stderr
    assert "rdb attach job" in rdb(recorded.home, "find-event", "job", "'x' in path").stderr


def test_a_rank_that_was_killed_before_its_first_record(rdb: Rdb, rdb_home: Path) -> None:
    assert rdb("run", "--name", "job", "--", "sh", "-c", "echo a").returncode == 0
    log = rdb_home / "job/rank-0/log-000000.seg"
    (rdb_home / "job/rank-1").mkdir()
    header = log.read_bytes()[:_SEGMENT_HEADER_BYTES]
    (rdb_home / "job/rank-1" / log.name).write_bytes(header.ljust(1 << 16, b"\0"))
    done = rdb("find-event", "job", "write")
    assert done.returncode == 0, done.stderr
    assert "write(1, " in done.stdout
