"""The newest instructions, and memory before each, without a replica that stands there.

A replica that has gone through them while it kept their registers and what they wrote over stands
behind them; what it holds now, with that put back, is what was there before.  Going there anew
would cost a fork.
"""

from __future__ import annotations

from collections import defaultdict

from rdb.replay.agent import Gpr
from rdb.replay.protocol import TRACED
from rdb.timeline.position import Position, Steps
from rdb.timeline.walker import Walker

_CHUNK = 512
_LINE = 6  # bits of an address: what was written over is looked up by lines of 64 bytes
_LINES_MAX = 64  # of one look


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
        first, log = walker.agent.undo_log()
        self._whole = first + self._skipped  # what is written from that step on is known
        self._log = [(step + self._skipped, addr, old) for step, addr, old in log]
        self._lines: dict[int, list[int]] = defaultdict(list)
        for number, (_, addr, old) in enumerate(self._log):
            for line in range(addr >> _LINE, (addr + len(old) - 1 >> _LINE) + 1):
                self._lines[line].append(number)

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
        data = bytearray(self._walker.agent.read(addr, length))
        end = addr + len(data)
        for number in self._written(addr, end):
            step, at, old = self._log[number]
            if step < index:
                break
            low, high = max(addr, at), min(end, at + len(old))
            if low < high:
                data[low - addr : high - addr] = old[low - at : high - at]
        return bytes(data)

    def _written(self, addr: int, end: int) -> list[int]:
        """Those of the log that may be about these bytes, the newest first."""
        lines = range(addr >> _LINE, (max(end - 1, addr) >> _LINE) + 1)
        if len(lines) > _LINES_MAX:
            return list(range(len(self._log) - 1, -1, -1))
        found = {number for line in lines for number in self._lines.get(line, ())}
        return sorted(found, reverse=True)
