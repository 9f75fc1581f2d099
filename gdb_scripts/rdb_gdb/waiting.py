"""What one sees while a request takes long: for how long, and how far it is where that is known."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any

import gdb

_QUIET_S = 1.0


class Waiting:
    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._said = False

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._said:
            gdb.write("\r\033[K", gdb.STDERR)
            gdb.flush(gdb.STDERR)

    def __call__(self, answer: dict[str, Any]) -> None:
        elapsed_s = time.monotonic() - self._began
        if elapsed_s < _QUIET_S:
            return
        part = answer.get("progress")
        far = "" if part is None else f"{100 * part:.0f}%, "
        text = f"{self._what}: {far}{elapsed_s:.0f} s"
        if os.isatty(2):
            gdb.write(f"\r\033[K{text} (Ctrl-C: back to where you were)", gdb.STDERR)
            self._said = True
        else:
            gdb.write(f"rdb-progress: {text}\n", gdb.STDLOG)
        gdb.flush()
