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
from .command import Command
from .history import log
from .own_frames import frames

_HOOK = """define hook-reverse-finish
rdb-reverse-finish
end"""
_USER_POINTS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)


class Begin(Command):
    """Prepare for the reverse-finish that follows, until its stop: rdb-reverse-finish
    What GDB runs before its own."""

    name = "rdb-reverse-finish"
    kind = gdb.COMMAND_RUNNING

    def invoke(self, argument: str, from_tty: bool) -> None:
        own.from_here()
        _leave_inner_frames()
        _prepare()


def _leave_inner_frames() -> None:
    """GDB goes back to the innermost function's call, whichever frame is selected."""
    try:
        level = gdb.selected_frame().level()
    except gdb.error:
        return  # no frame here: `reverse-finish` says so
    stack = _not_inlined()
    inner = sum(1 for one in stack if one.level() < level)
    if not inner:
        return
    with log.travelling():
        for left in range(len(stack) - 1, len(stack) - 1 - inner, -1):
            _not_inlined()[0].select()
            _prepare()
            # In its own hook the command has no hook.
            gdb.execute("reverse-finish", to_string=True)
            if len(_not_inlined()) != left:
                raise gdb.GdbError("Stopped on the way back to the frame that was selected.")
    gdb.newest_frame().select()


def _not_inlined() -> list[Any]:
    return [one for one in frames() if one.type() != gdb.INLINE_FRAME]


def _prepare() -> None:
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
        # Who called by a jump pushed nothing.
        while older.type() == gdb.TAILCALL_FRAME and older.older() is not None:
            older = older.older()
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
    Begin()
    gdb.execute(_HOOK, to_string=True)
