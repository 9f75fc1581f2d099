"""Small MPI jobs, recorded once for all tests that look at them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import deadlines

from rdb.process_stat import process_stat
from rdb.recording import Job, open_job

RANKS = 3
RDB = (sys.executable, "-m", "rdb")
TIMEOUT_S = 400
Build = Callable[..., Path]


class Store:
    """Jobs recorded once for all tests here."""

    def __init__(self, home: Path, build: Build) -> None:
        self.environment = {**os.environ, "RDB_HOME": str(home)}
        self.home = home
        self._build = build

    def rdb(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return deadlines.run([*RDB, *arguments], TIMEOUT_S, input=text, env=self.environment)

    def job(self, name: str) -> Job:
        return open_job(self.home / name)

    def record(self, name: str, source: str) -> None:
        program = self._build(f"mpi/{source}", "-O0")
        done = self.rdb("run", "--name", name, "-n", str(RANKS), "--", str(program))
        assert done.returncode == 0, done.stderr

    def record_until_all_wait(self, name: str) -> None:
        """Kills the ranks of deadlock.c when all have said that they wait."""
        program = self._build("mpi/deadlock.c", "-O0")
        command = [*RDB, "run", "--name", name, "-n", str(RANKS), "--", str(program), name]
        with subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as run:
            assert run.stdout is not None
            for _ in range(RANKS):
                assert run.stdout.readline().endswith(b" waits\n")
            self._wait_for_the_logs(name)
            pids = [self.job(name).rank(rank).meta["pid"] for rank in range(RANKS)]
            # Else the launcher, which sees the first end, may end the others in its own way.
            launchers = {stat.parent for pid in pids if (stat := process_stat(pid))}
            for launcher in launchers:
                os.kill(launcher, signal.SIGSTOP)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            for launcher in launchers:
                os.kill(launcher, signal.SIGCONT)
            run.stdout.read()

    def _wait_for_the_logs(self, name: str) -> None:
        """An event is logged a moment after its output can be read."""
        deadline = deadlines.Deadline(TIMEOUT_S)
        for rank in range(RANKS):
            last = "MPI_Irecv(" if (name, rank) == ("tag", 1) else "write("
            while True:
                recording = self.job(name).rank(rank)
                if recording.describe(recording.last_event).startswith(last):
                    break
                assert not deadline.over(), f"rank {rank} logged no {last}...)"
                time.sleep(0.01)
