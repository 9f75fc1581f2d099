"""Registers and memory before each of the newest instructions, from one replica behind them.

That replica has stepped through the instructions, and kept their registers and the bytes that they
overwrote.  Its memory with those bytes put back is the memory before an instruction.  Running to
that position would cost a fork.
"""

from __future__ import annotations

from rdb.replay.agent import Gpr
from rdb.replay.protocol import TRACED
from rdb.timeline.position import Position, Steps
from rdb.timeline.walker import Walker

_CHUNK = 512


class Backlog:
    """Owns a walker, which is `steps` after `start` and never moves again."""

    def __init__(self, walker: Walker, start: Position, steps: int, made: int) -> None:
        """MADE: how many of these steps the walker's last step request made."""
        self._walker = walker
        self._start = start
        self._steps = steps
        self.end = start.then(Steps(steps)) if steps else start  # callers may set another name
        self._skipped = steps - made  # steps of which nothing is known
        self.first = self._skipped + max(made - TRACED, 0)  # oldest step with kept registers
        # Memory is known from that step on.
        self._whole = walker.agent.undo_first() + self._skipped

    def close(self) -> None:
        self._walker.close()

    def index(self, position: Position) -> int | None:
        """Index of the step that comes next at a position; None: memory there is not known."""
        index = self.step(position)
        return index if index is not None and self._whole <= index <= self._steps else None

    def step(self, position: Position) -> int | None:
        """How many steps a position is after the start; None: not known."""
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
        """Registers before the steps that end before step INDEX, at most 512, oldest first."""
        low = max(index - _CHUNK, self.first)
        if low >= index:
            return []
        return self._walker.agent.traced(low - self._skipped)[: index - low]

    def last_at(self, pc: int, index: int) -> int | None:
        """The last step before step INDEX that was made at PC; None: there is none."""
        found = self._walker.agent.traced_at(pc, index - self._skipped)
        return None if found is None else found + self._skipped

    def last_outside(self, first: int, end: int, index: int) -> int | None:
        """As `last_at`: made outside of these addresses."""
        found = self._walker.agent.traced_outside(first, end, index - self._skipped)
        return None if found is None else found + self._skipped

    def read(self, index: int, addr: int, length: int) -> bytes:
        """The readable bytes at ADDR, up to the first unmapped one, as before step INDEX."""
        before = None if index == self._steps else index - self._skipped
        return self._walker.agent.read(addr, length, before)
