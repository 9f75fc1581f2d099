"""What the kernel says about a process of this host (proc_pid_stat(5))."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class ProcessStat(NamedTuple):
    """`start_ticks` tells a process apart from later ones with its number.

    `used_ticks`: its processor time.
    """

    pid: int
    state: str
    parent: int
    start_ticks: int
    used_ticks: int


def process_stat(pid: int | None) -> ProcessStat | None:
    """None: there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name may hold spaces and parentheses: fields are counted from the last parenthesis.
    fields = text[text.rindex(")") + 2 :].split()
    return ProcessStat(
        int(text.split()[0]),
        fields[0],
        int(fields[1]),
        int(fields[19]),
        int(fields[11]) + int(fields[12]),
    )


def lives(pid: int, start_ticks: int) -> bool:
    """Whether process PID is the one that began then, and has not ended."""
    stat = process_stat(pid)
    return stat is not None and stat.start_ticks == start_ticks and stat.state not in "ZX"
