"""Two corrections of GDB's reverse-finish.

GDB runs back to the function's first instruction, in any call.  In a recursion it meets a deeper
call first, so we tell the server which call is meant.  Then GDB steps one instruction further back,
into the caller.  It steps over a caller without a name, such as the inside of qsort(3), except if
its step-mode is on.
"""

from __future__ import annotations

import re
from typing import Any

import gdb

from .. import link
from ..loading import at_load
from ..state import own, settings
from ..state.history import log
from ..values import examined, symbols
from ..values.own_frames import frames
from .command import Command, command

_HOOK = """define hook-reverse-finish
rdb-reverse-finish
end"""


@command("rdb-reverse-finish")
class Begin(Command):
    """Prepare for the reverse-finish that follows, until its stop: rdb-reverse-finish
    GDB runs it before its own reverse-finish."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        own.from_here()
        _leave_inner_frames()
        _prepare()


def _leave_inner_frames() -> None:
    """Leaves the frames inside of the selected one: GDB only finishes the innermost function."""
    try:
        level = gdb.selected_frame().level()
    except gdb.error:
        return  # no frame: `reverse-finish` reports that
    stack = _not_inlined()
    inner = sum(1 for one in stack if one.level() < level)
    if not inner:
        return
    with log.travelling():
        for left in range(len(stack) - 1, len(stack) - 1 - inner, -1):
            _not_inlined()[0].select()
            _prepare()
            # Within its own hook a command runs without the hook.
            gdb.execute("reverse-finish", to_string=True)
            if len(_not_inlined()) != left:
                raise gdb.GdbError("Stopped before the frame that was selected was reached.")
    gdb.newest_frame().select()


def _not_inlined() -> list[Any]:
    return [one for one in frames() if one.type() != gdb.INLINE_FRAME]


def _prepare() -> None:
    entry = _entry()
    if entry is None:
        return  # there is nothing to finish, or GDB finishes by steps
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
    """First instruction of the selected frame's function, and the stack pointer there; None: there
    is no caller."""
    try:
        frame = gdb.selected_frame()
        older = frame.older()
        if older is None or frame.type() == gdb.INLINE_FRAME:
            return None
        start = symbols.function_start(frame.pc())
        if start is None:
            return None
        # A tail call is a jump and pushes no return address.
        while older.type() == gdb.TAILCALL_FRAME and (pushed := older.older()) is not None:
            older = pushed
        # The call has pushed the return address.
        return start, int(older.read_register("rsp")) - 8
    except gdb.error:
        return None


def _user_stops_at(addr: int) -> bool:
    """Has the user a breakpoint there?  GDB inserts only one for its own and the user's."""
    listed = examined.said("info breakpoints")
    return re.search(rf"\by\s+0x0*{addr:x}\b", listed) is not None


@at_load
def define() -> None:
    gdb.execute(_HOOK, to_string=True)
