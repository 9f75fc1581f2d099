"""What the directory of a job without a log says: the centre's address, finished checkpoints.

Imports little, as joining.py does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

APART = "apart"
"""File in the directory of a job whose hosts do not all see it: whether the centre may be here."""
CENTRE, NO_CENTRE = "centre\n", "elsewhere\n"
ADDRESS = "relay.json"
"""File in a job's directory: where the centre listens."""


def is_apart(job: Path) -> bool:
    """Whether hosts of the job have their parts of it on disks of their own."""
    return (job / APART).exists()


def centre_address(job: Path) -> dict[str, Any] | None:
    """Address of the job's centre; None: it has none, as all ranks are on one host."""
    import json

    try:
        return dict(json.loads((job / ADDRESS).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return None


def checkpoints_of(job: str) -> list[int]:
    """Numbers of the checkpoints that all ranks have finished."""
    prefix = "commit-"
    names = [name for name in os.listdir(job) if name.startswith(prefix)]
    return sorted(int(name[len(prefix) :]) for name in names if name[len(prefix) :].isdigit())
