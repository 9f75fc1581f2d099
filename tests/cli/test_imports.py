"""A command imports what it uses, and no more: a user waits for each import at each command."""

from __future__ import annotations

import sys
from pathlib import Path

import deadlines
import pytest
from conftest import Rdb

SESSION = {"rdb.session.session", "pygdbmi", "prompt_toolkit", "wcwidth"}
WAITING = {"asyncio", "ssl", "concurrent.futures", "logging", "multiprocessing"}
REPLICAS = {"rdb.timeline", "rdb.replay", "socket"}
LAUNCHING = {"rdb.launch.placement", "rdb.launch.newjob"}
OF_LOGS = SESSION | WAITING | REPLICAS | LAUNCHING
MESSAGES = {"rdb.recording.messages", "rdb.recording.mpi", "rdb.recording.verbs"}


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--version"], OF_LOGS | {"dataclasses", "inspect", "pathlib", "rdb.recording"}),
        (["ls"], OF_LOGS | MESSAGES | {"subprocess"}),
        (["info", "echo-1"], OF_LOGS | {"subprocess"}),
        (["find-event", "echo-1", "write"], OF_LOGS | {"subprocess"}),
        (["messages", "echo-1"], OF_LOGS | {"subprocess"}),
        (["pack", "echo-1"], OF_LOGS | MESSAGES | {"rdb.agents", "rich"}),
        (["replay", "echo-1"], SESSION | WAITING | MESSAGES | {"rdb.timeline", "rich"}),
        (["attach", "echo-1", "-x", "script"], {"prompt_toolkit", "wcwidth", "rdb.agents"}),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else None,
)
def test_nothing_that_is_not_used_is_imported(
    rdb: Rdb, rdb_home: Path, tmp_path: Path, arguments: list[str], heavy: set[str]
) -> None:
    assert rdb("run", "--", "/bin/echo", "hi").returncode == 0
    (tmp_path / "script").write_text("info job\n")
    line = [sys.executable, "-X", "importtime", "-m", "rdb", *arguments]
    done = deadlines.native(line, check=False, cwd=tmp_path)
    no_messages = 1
    assert done.returncode == (no_messages if arguments[0] == "messages" else 0), done.stderr
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "rdb.cli.parser" in imported
    assert not heavy & imported
