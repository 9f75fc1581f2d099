"""reverse-finish out of a function that code without symbols called, such as qsort's comparator.

At its end GDB goes one instruction back, into the caller, and takes a caller without a name for
something to be stepped over: it would run to where that one returned, long before or never.  With
its step-mode on it stops there.
"""

from __future__ import annotations

from typing import Any

import gdb

_HOOK = """define hook-reverse-finish
python import rdb_gdb.finishing; rdb_gdb.finishing.begin()
end"""


def begin() -> None:
    """Step-mode is on from now to the next stop."""
    if gdb.parameter("step-mode") or not _can_finish():
        return

    def stopped(event: Any) -> None:
        gdb.events.stop.disconnect(stopped)
        gdb.execute("set step-mode off", to_string=True)

    gdb.execute("set step-mode on", to_string=True)
    gdb.events.stop.connect(stopped)


def _can_finish() -> bool:
    """Otherwise GDB refuses, and there is no stop."""
    try:
        return gdb.selected_frame().older() is not None
    except gdb.error:
        return False


def define() -> None:
    gdb.execute(_HOOK, to_string=True)
