"""Jobs that run without a recording (--record=off), with checkpoints when somebody asks.

Imports little: every rank does it at its start.
"""

from __future__ import annotations

import os


def checkpoints_options(job: str, rank: int, nranks: int) -> list[str]:
    """What rdb-exec is told of the board by which its ranks agree (interposer/live/board.h)."""
    return [
        "--record=checkpoints",
        *("--board", os.path.join(job, "board")),
        *("--ranks", str(nranks)),
        *("--board-rank", str(rank)),
    ]


def checkpoints_of(job: str) -> list[int]:
    """Numbers of those that all ranks have finished."""
    prefix = "commit-"
    names = [name for name in os.listdir(job) if name.startswith(prefix)]
    return sorted(int(name[len(prefix) :]) for name in names if name[len(prefix) :].isdigit())
