"""`mpirun rdb exec --record off`, with no `rdb run`: a job with checkpoints all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import Build
from running import Running, sums, sums_after


class Launched(Running):
    """By mpirun itself."""

    def __init__(self, home: Path, folder: Path, name: str, ranks: int, *command: str) -> None:
        self.home, self.folder, self.name = home, folder, name
        rdb = [sys.executable, "-m", "rdb", "exec", "--record", "off", "--name", name, "--"]
        self.process = subprocess.Popen(
            ["mpirun", "--oversubscribe", "-n", str(ranks), *rdb, *command],
            cwd=folder,
            env={**os.environ, "RDB_HOME": str(home)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def test_a_launched_job_has_checkpoints(tmp_path: Path, build: Build) -> None:
    program = str(build("mpi/coordinated_mpi.c"))
    one = Launched(tmp_path / "home", tmp_path, "bare", 2, program, "8", "gate")
    one.until("half")
    whole = sums_after(one, 1)
    assert len(whole) == 2
    done = one.rdb("restart", "bare")
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == whole
