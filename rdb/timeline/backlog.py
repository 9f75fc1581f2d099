"""Memory before each of the newest instructions, without a replica that stands there.

A replica that has gone through them while it kept what they wrote over stands behind them; what it
holds now, with that put back, is what was there before.  Going there anew would cost a fork.
"""

from __future__ import annotations

from rdb.timeline.position import Position, Steps
from rdb.timeline.walker import Walker


class Backlog:
    """Owns a walker, which stands `steps` after `base` and never moves again."""

    def __init__(self, walker: Walker, base: Position, steps: int, made: int) -> None:
        """Its last step request made the last `made` of these steps."""
        self._walker = walker
        self._base = base
        self._steps = steps
        first, log = walker.agent.undo_log()
        skipped = steps - made
        self._first = first + skipped
        self._log = [(step + skipped, addr, old) for step, addr, old in log]

    def close(self) -> None:
        self._walker.close()

    def index(self, position: Position) -> int | None:
        """Which step comes next at a position; None: it is none of those that are known here."""
        rest = position.after(self._base)
        match rest:
            case ():
                index = 0
            case (Steps(n),):
                index = n
            case _:
                return None
        return index if self._first <= index < self._steps else None

    def read(self, index: int, addr: int, length: int) -> bytes:
        """As many of the bytes as are there, before step `index`."""
        data = bytearray(self._walker.agent.read(addr, length))
        end = addr + len(data)
        for step, at, old in reversed(self._log):
            if step < index:
                break
            low, high = max(addr, at), min(end, at + len(old))
            if low < high:
                data[low - addr : high - addr] = old[low - at : high - at]
        return bytes(data)
