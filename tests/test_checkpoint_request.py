"""rdb checkpoint: asking a running job for images."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import Rdb
from deadlines import DEADLINE_S, wait_for

from rdb.recording import open_job

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
        assert run.wait(timeout=DEADLINE_S) == 0
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
