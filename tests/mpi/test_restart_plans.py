"""What the plan of a restart costs."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build, Rdb

from rdb.live.plan import make_plan
from rdb.recording import open_job
from rdb.recording.log.index import LogIndex


def test_a_plan_reads_each_log_a_few_times(
    rdb: Rdb, rdb_home: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each collective or message."""
    steps = 200
    program = build("mpi/steps.c", "-O1")
    assert rdb("run", "-n", "2", "--name", "job", "--", program, str(steps)).returncode == 0
    job = open_job(rdb_home / "job")
    opened: list[Path] = []
    begin = LogIndex.__init__

    def noted(index: LogIndex, directory: Path, tail: bool = False) -> None:
        opened.append(directory)
        begin(index, directory, tail)

    monkeypatch.setattr(LogIndex, "__init__", noted)
    plan = make_plan(job, 0, str(job.rank(0).last_event // 2))
    assert len(plan.cut.events) == 2 and plan.launched
    assert 2 <= len(opened) < steps / 20, opened
