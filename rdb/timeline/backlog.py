"""The newest instructions, and memory before each, without a replica that stands there.

A replica that has gone through them while it kept their registers and what they wrote over stands
behind them; what it holds now, with that put back, is what was there before.  Going there anew
would cost a fork.
"""

from __future__ import annotations

from rdb.replay.agent import Gpr
from rdb.replay.protocol import TRACED
from rdb.timeline.position import Position, Steps
from rdb.timeline.walker import Walker

_CHUNK = 512


class Backlog:
    """Owns a walker, which stands `steps` after `start` and never moves again."""

    def __init__(self, walker: Walker, start: Position, steps: int, made: int) -> None:
        """Its last step request made the last `made` of these steps."""
        self._walker = walker
        self._start = start
        self._steps = steps
        self.end = start.then(Steps(steps)) if steps else start  # may be set to its other name
        self._skipped = steps - made  # of which nothing is known
        self.first = self._skipped + max(made - TRACED, 0)  # the oldest whose registers are kept
        # Memory is known from that step on.
        self._whole = walker.agent.undo_first() + self._skipped

    def close(self) -> None:
        self._walker.close()

    def index(self, position: Position) -> int | None:
        """Which step comes next at a position; None: memory there is not known here."""
        index = self.step(position)
        return index if index is not None and self._whole <= index <= self._steps else None

    def step(self, position: Position) -> int | None:
        """How many steps after the start a position is, as far as can be told."""
        if position == self.end:
            return self._steps
        match position.after(self._start):
            case ():
                return 0
            case (Steps(n),):
                return n
        return None

    def position(self, index: int) -> Position:
        return self._start.then(Steps(index)) if index else self._start

    def before(self, index: int) -> list[Gpr]:
        """Registers before the last steps before this one."""
        low = max(index - _CHUNK, self.first)
        if low >= index:
            return []
        return self._walker.agent.traced(low - self._skipped)[: index - low]

    def last_at(self, pc: int, index: int) -> int | None:
        """The last step before this one that was made at pc."""
        found = self._walker.agent.traced_at(pc, index - self._skipped)
        return None if found is None else found + self._skipped

    def read(self, index: int, addr: int, length: int) -> bytes:
        """As many of the bytes as are there, before step `index`."""
        before = None if index == self._steps else index - self._skipped
        return self._walker.agent.read(addr, length, before)
