"""What GDB's reverse-finish lacks.

It goes back to the function's first instruction, any call's of it, and in a recursion it meets a
deeper one first: the server is told which call is meant.  Then it goes one instruction further
back, into the caller, and takes a caller without a name, such as qsort's inside, for something to
be stepped over: with GDB's step-mode on it stops there.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import link, own, settings

_HOOK = """define hook-reverse-finish
python import rdb_gdb.finishing; rdb_gdb.finishing.begin()
end"""
_USER_POINTS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)


def begin() -> None:
    """For the reverse-finish that follows, until its stop."""
    own.from_here()
    entry = _entry()
    if entry is None:
        return  # then there is nothing to finish, or GDB does it by steps
    step_mode = bool(gdb.parameter("step-mode"))

    def stopped(event: Any) -> None:
        gdb.events.stop.disconnect(stopped)
        if not step_mode:
            gdb.execute("set step-mode off", to_string=True)
        settings.again("step-mode")
        if link.connected():
            link.ask("entry")

    settings.for_the_moment("step-mode", step_mode)
    gdb.execute("set step-mode on", to_string=True)
    gdb.events.stop.connect(stopped)
    if link.connected() and not _user_stops_at(entry[0]):
        link.ask("entry", f"{entry[0]:#x},{entry[1]:#x}")


def _entry() -> tuple[int, int] | None:
    """First instruction of the selected frame's function, and the stack pointer there."""
    try:
        frame = gdb.selected_frame()
        older = frame.older()
        if older is None or frame.type() == gdb.INLINE_FRAME:
            return None
        start = _function_start(frame.pc())
        if start is None:
            return None
        # Above the return address that the call pushed.
        return start, int(older.read_register("rsp")) - 8
    except gdb.error:
        return None


def _function_start(pc: int) -> int | None:
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    found = re.match(r"\S.*?(?: \+ (\d+))? in section ", text)
    return pc - int(found[1] or 0) if found else None


def _user_stops_at(addr: int) -> bool:
    """GDB sets one breakpoint for its own and the user's at the same place."""
    listed = gdb.execute("info breakpoints", to_string=True)
    return re.search(rf"\by\s+0x0*{addr:x}\b", listed) is not None


def define() -> None:
    gdb.execute(_HOOK, to_string=True)
