"""Where a branch has the files that it began with, if these are not the real ones."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER, LIST = "later", "later-files"


def own_places(job: Path) -> dict[str, str]:
    """The copies of a branch, by original path; `+` marks places of files that processes share."""
    try:
        lines = os.fsdecode((job / LIST).read_bytes()).splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.removeprefix("!").removeprefix("*").split("\t", 1) for line in lines if line)
    return {
        path: place
        for place, path in pairs
        if Path(place).parent.name == FOLDER and place[0] != "="
    }
