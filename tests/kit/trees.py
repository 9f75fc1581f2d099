"""A program with child processes that was recorded, and its restarts."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from conftest import run_rdb
from events import events_called

from rdb.recording import Job, open_job


class Recorded:
    def __init__(self, folder: Path, *command: str) -> None:
        self.folder, self.home = folder, folder / "home"
        done = self.rdb("run", "--name", "job", "--", *command)
        assert done.returncode == 0, done.stderr
        self.said = done.stdout
        self.job: Job = open_job(self.home / "job")
        self.branches = 0

    def rdb(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_rdb(self.home, self.folder, *arguments)

    def events(self, *calls: str) -> list[int]:
        return events_called(self.job.rank(0), *calls)

    def restart(self, at: int, job: str = "job") -> Job:
        """What comes of it is what came of the uninterrupted run."""
        return self._check(at, job, self.tried(at, job))

    def restart_near(self, chosen: random.Random, job: str) -> Job:
        """At an event that is chosen; at another one if rdb asks for that.  There is something to
        come."""
        last = events_called(open_job(self.home / job).rank(0), "write(1,")[-1]
        while True:
            at = chosen.randrange(last)
            done = self.tried(at, job)
            if not done.returncode or "choose another" not in done.stderr:
                return self._check(at, job, done)

    def tried(self, at: int, job: str = "job") -> subprocess.CompletedProcess[str]:
        self.branches += 1
        return self.rdb("restart", job, "--at", str(at), "--name", self._newest())

    def _newest(self) -> str:
        return f"branch-{self.branches}"

    def _check(self, at: int, job: str, done: subprocess.CompletedProcess[str]) -> Job:
        where = f"{job} at {at}: {open_job(self.home / job).rank(0).describe(at)}"
        assert done.returncode == 0, f"{where}: {done.stderr}"
        assert done.stdout and self.said.endswith(done.stdout), f"{where}: {done.stdout}"
        verified = self.rdb("replay", self._newest(), "--verify")
        assert verified.returncode == 0, f"{where}: {verified.stderr}"
        return open_job(self.home / self._newest())
