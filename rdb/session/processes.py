"""The processes under a GDB: the server behind its pipe, that server's replicas.

GDB starts the server in a session of its own (gdb/ser-pipe.c calls setsid so that Ctrl-C does not
reach it).  So they have no common process group and are found by their parents in /proc.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process, identified by pid and start time: pids are used again."""

    pid: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        stat = _stat(self.pid)
        return stat is not None and stat[2] == self.start_ticks and stat[0] != "Z"

    def kill(self) -> None:
        if self.alive:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return  # it ended by itself in between


def descendants(pid: int) -> list[Process]:
    """All living processes below PID, parents first."""
    children: dict[int, list[Process]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        stat = _stat(int(entry.name))
        if stat is not None:
            children.setdefault(stat[1], []).append(Process(int(entry.name), stat[2]))
    found: list[Process] = []
    frontier = [pid]
    while frontier:
        below = children.get(frontier.pop(), [])
        found.extend(below)
        frontier.extend(child.pid for child in below)
    return found


def _stat(pid: int) -> tuple[str, int, int] | None:
    """State, parent and start time of a process (proc(5), /proc/PID/stat); None: there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name may hold spaces and parentheses: fields are counted from the last parenthesis.
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0], int(fields[1]), int(fields[19])
