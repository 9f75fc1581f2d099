"""Snapshots that are cheap to fork, made in the background from ones that are dear.

A fork costs by the page that the program has written: tens of milliseconds a gigabyte, and every
motion forks a few times.  So a copy of a dear snapshot moves its memory to a file of its own (the
agent's `settle`), which takes as long as to copy it; from then on motions start from there, and pay
for what has been written since.
"""

from __future__ import annotations

from rdb.replay.agent import AgentError
from rdb.replay.snapshots import Snapshots, available_memory
from rdb.timeline.walker import Walker

_DEAR_S = 0.010
_FORKS = 10  # so many forks' time from the base before, at least: a copy costs about as much
_MEMORY_LEFT = 0.4  # of the machine's: a base is a copy of the program's memory


class Bases:
    """At most one is in the making; `refresh` puts it among the snapshots when it is done."""

    def __init__(self) -> None:
        self._coming: Walker | None = None
        self._since_s = 0.0  # where the newest base is

    def close(self) -> None:
        if self._coming is not None:
            self._coming.close()
        self._coming = None

    def takes(self, snapshot: Walker) -> bool:
        """Becomes its owner, and begins, if it is dear and nothing else is in the making."""
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
        """Call it only where nobody holds a snapshot: dear ones after a new base are dropped."""
        base = self._coming
        if base is None or not base.agent.settled:
            return
        self._coming = None
        try:
            base.agent.settle_end()
        except AgentError:
            base.close()  # no memory for it, say: things stay as they were
            return
        self._since_s = base.at_s
        base.fork_s = 0.0
        snapshots.drop(lambda one: one.at_s >= base.at_s and one.fork_s >= _DEAR_S)
        snapshots.add(base, here_s, base.fork_s)
