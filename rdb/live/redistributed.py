"""Arrays that are spread over the ranks of a job, put together from a checkpoint of all ranks.

The program names them (rdb_distribute() in interposer/include/rdb.h); ranks of another job read
their rows (interposer/answer/distribution.c).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rdb.coordinate.coordinated import Together
from rdb.environment import for_rdb_exec
from rdb.errors import DamagedRecording, Unsupported, Usage
from rdb.paths import rdb_exec_path
from rdb.recording import Job


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one rank: COUNT from row FIRST on, BLOCK behind each other, blocks STEP apart."""

    first: int
    count: int
    block: int
    step: int

    def blocks(self) -> Iterator[tuple[int, int]]:
        """(first row, row behind the last one)"""
        at = self.first
        for done in range(0, self.count, self.block):
            yield at, at + min(self.block, self.count - done)
            at += self.step


def write_arrays(job: Job, one: Together, folder: Path) -> list[str]:
    """Writes the job's arrays to FOLDER, a file NAME-ROWBYTES each; returns their names.

    A row that several ranks have is the lowest one's. Usage: the program distributes none.
    Unsupported: an array has rows of several sizes, or rows that no rank has.
    DamagedRecording: an image is damaged.
    """
    found: dict[str, dict[int, list[_Part]]] = {}
    for rank in reversed(range(one.nranks)):
        for line in _written(job, rank, one.number, folder):
            name, row, *part = line.split()
            found.setdefault(name, {}).setdefault(int(row), []).append(_Part(*map(int, part)))
    if not found:
        raise Usage(
            f"{job.name} has {one.nranks} ranks, and its restarts must have as many: its program "
            "distributes no array (rdb_distribute() of rdb.h)",
            "drop -n, or see docs/checkpoint.md",
        )
    for name, sizes in found.items():
        if len(sizes) > 1:
            raise Unsupported(
                f"the array {name} has rows of {' and of '.join(map(str, sorted(sizes)))} bytes"
            )
        _check_whole(name, *sizes.values())
    return sorted(found)


def _written(job: Job, rank: int, number: int, folder: Path) -> list[str]:
    line = [str(rdb_exec_path()), "--replay", str(job.rank(rank).path), "--from-image"]
    line += ["--files", str(job.path / "files"), "--checkpoint", str(number)]
    line += ["--redistribute", str(folder)]
    env = for_rdb_exec(os.environ)
    done = subprocess.run(line, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().removeprefix("rdb: ")
        failed = DamagedRecording if done.returncode == DamagedRecording.exit_code else Unsupported
        raise failed(f"rank {rank}: {told or f'rdb-exec: exit {done.returncode}'}")
    return done.stdout.decode().splitlines()


def _check_whole(name: str, parts: list[_Part]) -> None:
    end = 0
    for first, behind in sorted(block for part in parts for block in part.blocks()):
        if first > end:
            raise Unsupported(f"the array {name}: no rank has row {end}; row {first} is there")
        end = max(end, behind)
