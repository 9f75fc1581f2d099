"""What a job has recorded, found from the names of its files.

rdb.recording knows the same, but its imports take a fifth of the time of `rdb run` with a short
program.
"""

from __future__ import annotations

import os


def recorded_ranks(job: str) -> int:
    """Number of ranks that reached event 0, where the first image is taken."""
    return sum(_has_image(rank) for rank in _ranks(job))


def recorded_processes(job: str) -> int:
    """Number of processes of all ranks, the ranks included."""
    return sum(map(_processes, _ranks(job)))


def have_cautions(job: str) -> bool:
    """Whether a process has reasons why it may not replay (rdb/recording/cautions.py)."""
    return any("cautions" in files for rank in _ranks(job) for _, _, files in os.walk(rank))


def _names(folder: str) -> list[str]:
    """Empty if the folder is gone: anybody may have removed it."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _ranks(job: str) -> list[str]:
    return [os.path.join(job, name) for name in _names(job) if name.startswith("rank-")]


def _has_image(folder: str) -> bool:
    return any(name.startswith("ckpt-") and name.endswith(".img") for name in _names(folder))


def _begun(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "log-000000.seg"))


def _processes(folder: str) -> int:
    """Number of processes in FOLDER: its first one and all descendants.

    See rdb/recording/processes.py.
    """
    count = 1
    while True:
        for name in _names(folder):
            below = os.path.join(folder, name)
            if name.startswith("child-") and _begun(below):
                count += _processes(below)
        folder = os.path.join(folder, "exec")
        if not _begun(folder):
            return count
