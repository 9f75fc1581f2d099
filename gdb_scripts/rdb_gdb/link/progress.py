"""The progress line of a long operation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import gdb

_QUIET_S = 1.0
_PAUSE_S = 2.0  # after such a pause evaluations belong to another motion


class ProgressLine:
    """Progress after 1 s: on a terminal one line that is overwritten, else lines on GDB's log."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._said = False

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def say(self, far: str, hint: str = "") -> None:
        """Shows the progress FAR; HINT, what the user can do, is shown only on a terminal."""
        if self.elapsed_s() < _QUIET_S:
            return
        text = f"{self._what}: {far}"
        if os.isatty(2):
            gdb.write(f"\r\033[K{text}{hint}", gdb.STDERR)
            self._said = True
        else:
            gdb.write(f"rdb-progress: {text}\n", gdb.STDLOG)
        gdb.flush()

    def end(self) -> None:
        if self._said:
            gdb.write("\r\033[K", gdb.STDERR)
            gdb.flush(gdb.STDERR)


class Looks:
    """Progress of GDB's own evaluations in one motion: of a watchpoint after each instruction, of a
    condition at each hit."""

    def __init__(self) -> None:
        self._count = 0
        self._said = self._last = 0.0
        self._line = ProgressLine("")

    def one(self, expression: str, far: Callable[[], str]) -> None:
        """Counts one evaluation of EXPRESSION; FAR returns a text with the progress of the
        motion."""
        now = time.monotonic()
        if not self._count or now - self._last > _PAUSE_S:
            self._count, self._said, self._line = 0, now, ProgressLine(expression)
        self._count += 1
        self._last = now
        if now - self._said > _QUIET_S:
            self._line.say(f"looked at {self._count:,} times, {far()}")
            self._said = now

    def over(self, *_: object) -> None:
        self._line.end()
        self._count = 0
