"""rdb's own signals come to a replica at any time, also while it goes from thread to thread."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import deadlines
from alone import record
from conftest import Build

from rdb.paths import rdb_exec_path

TURNS = 150_000


def _catches(pid: int, number: int) -> bool:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


def test_the_timer_of_patience_between_threads(tmp_path: Path, build: Build) -> None:
    """As often as can be, not twice a second."""
    made = record(tmp_path, build("raw_turns.c", "-pthread"), str(TURNS), hash_every=1_000_000)
    assert made.result.returncode == 0, made.result.stderr
    line = [rdb_exec_path(), "--replay", made.rank_dir, "--files", made.files]
    replica = subprocess.Popen(
        [*line, "--verify", "--patience", "60"], stdout=subprocess.PIPE, text=True
    )
    deadline, sent = deadlines.Deadline(deadlines.DEADLINE_S), 0
    while replica.poll() is None:
        assert not deadline.over()
        if sent or _catches(replica.pid, signal.SIGVTALRM):
            os.kill(replica.pid, signal.SIGVTALRM)
            sent += 1
    assert sent > 1
    answer = json.loads(replica.communicate()[0])
    assert answer["ok"] and answer["events"] > 2 * TURNS, answer
