"""Files of MPI that a branch began with (interposer/mpi/lower/restart/restart_files_begun.c)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rdb.recording import Job

_WORDS = "mpi-files-begun"


@dataclass(frozen=True, slots=True)
class BegunFile:
    path: str
    writes: bool
    key: tuple[str, int]
    """Equal in all ranks that have the file open."""


@dataclass(frozen=True, slots=True)
class FilesBegun:
    open_files: dict[int, dict[int, BegunFile]] = field(default_factory=dict)
    """Rank -> the program's number of the file -> the file."""
    were: dict[str, Path | None] = field(default_factory=dict)
    """Path -> content of each file that the job had written to; None: it did not exist."""


def has_words(job: Job) -> bool:
    """False: the branch began without MPI files, or an older rdb made it."""
    return any((job.path / f"rank-{rank}" / _WORDS).exists() for rank in job.ranks)


def files_begun(job: Job) -> FilesBegun:
    found = FilesBegun()
    for rank in job.ranks:
        folder = job.path / f"rank-{rank}"
        if not (folder / _WORDS).exists():
            continue
        text = (folder / _WORDS).read_text(encoding="utf-8", errors="surrogateescape")
        numbers: Counter[str] = Counter()
        for line in text.splitlines():
            kind, rest = line.split(" ", 1)
            if kind != "open":
                number, path = rest.split(" ", 1)
                found.were[path] = folder / f"mpi-was-{number}" if kind == "was" else None
                continue
            number, writes, ranks, path = rest.split(" ", 3)
            key = f"{ranks} {path}"
            one = BegunFile(path, writes == "1", (key, -1 - numbers[key]))
            numbers[key] += 1
            found.open_files.setdefault(rank, {})[int(number)] = one
    return found
