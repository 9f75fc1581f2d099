"""RDB_TRACE: what rdb itself does, as lines in a file or on stderr."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from conftest import Build, Rdb

from rdb.recording import open_job
from rdb.trace import TOPICS


@pytest.fixture
def traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "trace"
    monkeypatch.setenv("RDB_TRACE", ",".join(TOPICS))
    monkeypatch.setenv("RDB_TRACE_FILE", str(path))
    return path


def test_each_event_and_packet(traced: Path, rdb: Rdb, rdb_home: Path, build: Build) -> None:
    program = str(build("reverse.c", "-O0"))
    assert rdb("run", "--name", "job", "--", program).returncode == 0
    last = open_job(rdb_home / "job").rank(0).last_event
    logged = re.findall(r" event (\d+): thread 1 logs (?!hash|checkpoint)", traced.read_text())
    assert last > 1 and [int(number) for number in logged] == list(range(last + 1))
    assert rdb("replay", "job", "--verify").returncode == 0
    answered = re.findall(r" event (\d+): thread 1 answers ", traced.read_text())
    assert [int(at) for at in answered if at != "0"] == list(range(1, last + 1))
    script = traced.with_name("script")
    script.write_text("reverse-step\n")
    assert rdb("attach", "job", "-x", str(script)).returncode == 0
    topics = Counter(line.split()[1] for line in traced.read_text().splitlines())
    assert set(topics) == {"event", "agent", "control", "rsp"}


def test_calls_of_mpi(
    traced: Path, rdb: Rdb, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDB_TRACE", "mpi")
    assert rdb("run", "-n", "2", "--", str(build("mpi/cells.c", "-O0"))).returncode == 0
    lines = traced.read_text().splitlines()
    assert len({line.split()[0] for line in lines}) == 2
    assert sum(line.endswith("calls MPI_Finalize = 0") for line in lines) == 2
    assert sum(line.endswith("logs MPI_Finalize = 0") for line in lines) == 2
    assert all(" MPI_" in line or " PMPI_" in line for line in lines)


def test_on_stderr(rdb: Rdb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_TRACE", "event")
    done = rdb("run", "--", "/bin/echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert re.search(
        r"^rdb\[\d+\] event \d+: thread 1 logs write\(2\) = 6$", done.stderr, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("RDB_TRACE", "event,evnt", "evnt is none of agent, control, event, mpi, rsp, verbs"),
        ("RDB_TRACE_FILE", "/nowhere/trace", "/nowhere/trace: No such file or directory"),
    ],
)
def test_refused(
    name: str, value: str, why: str, rdb: Rdb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDB_TRACE", "control")
    monkeypatch.setenv(name, value)
    done = rdb("attach", "job")
    assert (done.returncode, done.stderr) == (2, f"rdb: {name}: {why}\n")
