"""The line that says how far something is, once it has taken a while."""

from __future__ import annotations

import os
import time

import gdb

_QUIET_S = 1.0


class ProgressLine:
    """On a terminal one line, written again and again; elsewhere a line each time (GDB's log)."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._said = False

    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def say(self, far: str, hint: str = "") -> None:
        """`hint` is for people alone: what they can do meanwhile."""
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
