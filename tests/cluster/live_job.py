"""A job that runs until it is told to stop, on a cluster."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from cluster.conftest import Cluster
from cluster.host import Host, until
from rdb.recording import Job, open_job


class LiveJob:
    """`tests/programs/mpi/live.c` with four ranks; a context manager."""

    def __init__(
        self,
        cluster: Cluster,
        home: str | Path,
        command: Sequence[str | Path],
        name: str = "live",
        goes_on: LiveJob | None = None,
    ) -> None:
        self.cluster, self.name = cluster, name
        self.env = {"RDB_HOME": str(home)}
        self.home = Path(home)
        self.stop = goes_on.stop if goes_on else cluster.folder / f"{name}.stop"
        self.output = cluster.folder / f"{name}.out"
        self._line = [*command] if goes_on else [*command, self.stop]
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> LiveJob:
        self.process = self.cluster.head.start(*self._line, env=self.env, output=self.output)
        until(f"four ranks that work: {self.said()}", self.works)
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def works(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return all(f"rank {rank} turn 3\n" in self.said() for rank in range(4))

    def end(self) -> int:
        assert self.process is not None
        self.stop.touch()
        return self.process.wait(90)

    def said(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def rdb(self, *words: str | Path, host: Host | None = None) -> subprocess.CompletedProcess[str]:
        return (host or self.cluster.head).rdb(*words, env=self.env)

    def console(self, *lines: str) -> str:
        """What `rdb attach` prints for these lines."""
        script = self.cluster.host_file("script", *lines)
        done = self.rdb("attach", self.name, "-x", script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def job(self) -> Job:
        """Where all hosts see it, and so this process."""
        return open_job(self.home / self.name)
