"""Bases: snapshots that are cheap to fork, made in the background from expensive ones.

The cost of a fork grows with the pages that the program has written: tens of milliseconds a GB, and
every motion forks several times.  So a copy of an expensive snapshot moves its memory to a file
(the agent's `settle`), which takes as long as copying it.  From then on motions start at this base,
and pay only for pages written since.
"""

from __future__ import annotations

from rdb.replay.agent import AgentError
from rdb.replay.snapshots import Snapshots, available_memory
from rdb.timeline.walker import Walker

_DEAR_S = 0.010
_FORKS = 10  # least distance from the last base, in forks: a base costs about as much
_MEMORY_LEFT = 0.4  # least free share of memory: a base is a copy of the program's memory


class Bases:
    """Makes one base at a time; `refresh` adds it to the snapshots when it is done."""

    def __init__(self) -> None:
        self._coming: Walker | None = None
        self._since_s = 0.0  # at_s of the newest base

    def close(self) -> None:
        if self._coming is not None:
            self._coming.close()
        self._coming = None

    def takes(self, snapshot: Walker) -> bool:
        """Takes over a snapshot and begins to make it a base, if that is worth it; else False."""
        if self._coming is not None or snapshot.fork_s < _DEAR_S:
            return False
        if abs(snapshot.at_s - self._since_s) < _FORKS * snapshot.fork_s:
            return False
        if available_memory() < _MEMORY_LEFT:
            return False
        snapshot.agent.settle_begin()
        self._coming = snapshot
        return True

    def refresh(self, snapshots: Snapshots[Walker], here_s: float) -> None:
        """Adds a finished base, and drops expensive snapshots after it.

        Call it only when no caller holds a snapshot.
        """
        base = self._coming
        if base is None or not base.agent.settled:
            return
        self._coming = None
        try:
            base.agent.settle_end()
        except AgentError:
            base.close()  # for example without memory for it
            return
        self._since_s = base.at_s
        base.fork_s = 0.0
        snapshots.drop(lambda one: one.at_s >= base.at_s and one.fork_s >= _DEAR_S)
        snapshots.add(base, here_s, base.fork_s)
