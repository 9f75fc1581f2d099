"""Where a program has its symbols."""

from __future__ import annotations

import subprocess
from pathlib import Path

from rdb.timeline.timeline import Timeline


def symbol(timeline: Timeline, program: Path, name: str) -> int:
    """Address of a symbol of a program that was moved to the arena."""
    lines = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    table = {
        word[2]: int(word[0], 16) for line in lines.splitlines() if len(word := line.split()) == 3
    }
    return table[name] - table["_start"] + timeline.hello.entry
