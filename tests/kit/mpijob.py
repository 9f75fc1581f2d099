"""MPI jobs recorded with rdb-exec itself, every rank hashed at every event."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deadlines
from conftest import TIMEOUT_S

from rdb.paths import mpi_dir, rdb_exec_path
from rdb.recording import Kind, RankRecording

# Processes of different launches meet over TCP only.
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp"]
MPIRUN += ["--mca", "btl_tcp_if_include", "lo"]


@dataclass
class Job:
    """A recorded MPI job, made with rdb-exec itself."""

    path: Path
    ranks: int
    result: subprocess.CompletedProcess[str]
    hash_every: int = 1
    timeout_s: float = TIMEOUT_S

    @property
    def files(self) -> Path:
        return self.path / "files"

    def rank(self, rank: int) -> RankRecording:
        return RankRecording(self.path / f"rank-{rank}", self.files)

    def expect_equal(self) -> None:
        """Every rank, replayed alone, has the recorded memory at every event."""
        for rank in range(self.ranks):
            done = deadlines.run(
                [
                    rdb_exec_path(),
                    "--replay",
                    self.path / f"rank-{rank}",
                    "--files",
                    self.files,
                    "--verify",
                ],
                self.timeout_s,
            )
            answer: dict[str, Any] = (
                json.loads(done.stdout) if done.stdout else {"what": done.stderr}
            )
            assert (done.returncode, answer.get("ok")) == (0, True), (rank, answer)
            recording = self.rank(rank)
            assert answer["events"] == recording.last_event
            hashes = [r.nr for r in recording.records() if r.kind is Kind.HASH]
            if self.hash_every == 1:
                assert hashes.count(0) == answer["events"] + 1, "one at each event, also event 0"
            assert answer["hashes"] == len(hashes), answer


# mpirun passes on what ranks write by pieces that need not be lines: so each has a file of its own.
# One command for all ranks: the mpirun of Open MPI 5.0.7 crashes when there are several.
RANK = "@RANK@"
TO_ITS_FILE = (
    "out=$1; shift; rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; "
    f'exec "${{@//{RANK}/$rank}}" > "$out/$rank"'
)


def launch(
    launcher: Sequence[str], ranks: int, *command: str | Path,
    cwd: Path | None = None, timeout_s: float = TIMEOUT_S,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """N ranks of `PROG ARGS`, with each one's number for RANK; what they wrote is in their order.

    In a session of its own, so that a hanging job can be ended as a whole."""
    with tempfile.TemporaryDirectory() as out:
        words = [*launcher, "-n", str(ranks), "bash", "-c", TO_ITS_FILE, "bash", out]
        words += map(str, command)
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, cwd=cwd,
        )  # fmt: skip
        try:
            said, err = deadlines.communicate(process, timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        files = sorted(Path(out).iterdir(), key=lambda path: int(path.name))
        said += "".join(path.read_text() for path in files)
    return subprocess.CompletedProcess(words, process.returncode, said, err)


def mpirun(
    ranks: int, *command: str | Path, cwd: Path | None = None, timeout_s: float = TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    return launch(MPIRUN, ranks, *command, cwd=cwd, timeout_s=timeout_s)


def record(
    tmp_path: Path, ranks: int, *command: str | Path,
    hash_every: int = 1, cwd: Path | None = None, timeout_s: float = TIMEOUT_S,
    mpi: Sequence[str | Path] = (), launcher: Sequence[str] = MPIRUN,
) -> Job:  # fmt: skip
    """`mpi`: rdb-exec's options that say which libraries; those of Open MPI if there are none."""
    mpi = mpi or ["--mpi-lower", mpi_dir() / "lower.so", "--mpi-stub", mpi_dir() / "libmpi.so.40"]
    path = tmp_path / "job"
    (path / "files").mkdir(parents=True)
    for rank in range(ranks):
        (path / f"rank-{rank}").mkdir()
    done = launch(
        launcher, ranks, rdb_exec_path(), "--dir", path / f"rank-{RANK}",
        "--files", path / "files", "--rank", RANK, "--hash-every", str(hash_every),
        *mpi, "--", *command, cwd=cwd, timeout_s=timeout_s,
    )  # fmt: skip
    return Job(path, ranks, done, hash_every, timeout_s)


def lines(result: subprocess.CompletedProcess[str]) -> list[str]:
    return sorted(result.stdout.splitlines())
