"""The processes under a GDB: the server behind its pipe, that server's replicas.

GDB starts the server in a session of its own (gdb/ser-pipe.c calls setsid so that Ctrl-C does not
reach it).  So they have no common process group and are found by their parents in /proc.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple

from rdb.process_stat import lives, process_stat


class Process(NamedTuple):
    """A process, identified by pid and start time: pids are used again."""

    pid: int
    start_ticks: int

    @property
    def alive(self) -> bool:
        return lives(self.pid, self.start_ticks)

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
        stat = process_stat(int(entry.name))
        if stat is not None:
            process = Process(int(entry.name), stat.start_ticks)
            children.setdefault(stat.parent, []).append(process)
    found: list[Process] = []
    frontier = [pid]
    while frontier:
        below = children.get(frontier.pop(), [])
        found.extend(below)
        frontier.extend(child.pid for child in below)
    return found
