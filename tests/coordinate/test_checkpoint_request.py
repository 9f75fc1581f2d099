"""rdb checkpoint: asking a running job for images."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Rdb
from deadlines import DEADLINE_S, wait_for

from rdb.checked import to_json
from rdb.coordinate import request
from rdb.coordinate.board import Board, State, board_path, create_board
from rdb.coordinate.coordinated import alive
from rdb.errors import RdbError
from rdb.recording import FORMAT, Job, open_job

PROGRAM = """
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	long rounds = 0;
	int fd = creat("started", 0600);
	for (; access("stop", F_OK); rounds++)
		usleep(1000);
	return fd < 0 || !rounds;
}
"""


def test_a_running_job_is_asked(
    rdb: Rdb, build_text: Callable[..., Path], tmp_path: Path, rdb_home: Path
) -> None:
    program = build_text("waits", PROGRAM)
    command = [sys.executable, "-m", "rdb", "run", "--name", "job", "--checkpoint-every", "0"]
    with subprocess.Popen([*command, "--", program], cwd=tmp_path, env=dict(os.environ)) as run:
        try:
            wait_for("its start", (tmp_path / "started").exists)
            first = rdb("checkpoint", "job", "--timeout", str(DEADLINE_S))
            second = rdb("checkpoint", "job", "--timeout", str(DEADLINE_S))
        finally:
            (tmp_path / "stop").touch()
        assert deadlines.wait(run, DEADLINE_S) == 0
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("rank 0: checkpoint 1 at event ")
    assert second.stdout.startswith("rank 0: checkpoint 2 at event ")
    images = open_job("job").rank(0).images
    assert [image.number for image in images] == [0, 1, 2]
    verified = rdb("replay", "job", "--verify", "--checkpoint", "all")
    assert verified.returncode == 0, verified.stderr

    over = rdb("checkpoint", "job")
    assert over.returncode == 1
    assert over.stderr == "rdb: job does not run; rdb ls shows what runs\n"


def test_a_rank_that_ends_before_it_is_asked(
    rdb: Rdb, build_text: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others take their checkpoints."""
    assert rdb("run", "--name", "over", "--", "true").returncode == 0
    program = build_text("waits", PROGRAM)
    command = [sys.executable, "-m", "rdb", "run", "--name", "job", "--", str(program)]
    with subprocess.Popen(command, cwd=tmp_path, env=dict(os.environ)) as run:
        try:
            wait_for("its start", (tmp_path / "started").exists)
            both = [open_job(name).rank(0) for name in ("over", "job")]
            monkeypatch.setattr(request, "running", lambda job: both)
            over, there = request.checkpoint_all(open_job("job"), DEADLINE_S)
        finally:
            (tmp_path / "stop").touch()
        assert deadlines.wait(run, DEADLINE_S) == 0
    assert "error" in over
    assert there["number"] == 1


def test_a_process_that_has_the_number_of_a_dead_rank_is_left_alone(tmp_path: Path) -> None:
    """The signal would end it (signal(7))."""
    (tmp_path / "job.json").write_text(to_json({"format": FORMAT}))
    create_board(board_path(tmp_path), 1)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
        host = os.uname().nodename.encode()
        slot = struct.pack("<Ii64s", State.RUNS, stranger.pid, host) + bytes(16 * 8)
        Board(board_path(tmp_path)).put_raw(0, slot)
        assert not alive(Job(tmp_path))
        with pytest.raises(RdbError, match="No such process"):
            request.send_request(stranger.pid)
        assert stranger.stdin is not None
        stranger.stdin.close()
        assert deadlines.wait(stranger, DEADLINE_S) == 0
