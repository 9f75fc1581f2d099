"""Selects the innermost frame of the program's own code for the user.

At the end of a recording, or at a signal, the innermost frame is in a library, such as `_exit` or
`raise`, where the program's names mean something else or nothing.
"""

from __future__ import annotations

from typing import Any

import gdb

from .. import link
from ..loading import at_load
from ..values import pynames
from ..values.own_frames import frames, in_own_file, own_frames

_HOOK = """define hook-finish
python import rdb_gdb.state.own; rdb_gdb.state.own.from_here()
end"""
_OF_DEBUGGERS = ("SIGTRAP", "SIGINT", "0")
_MAINS = ("MAIN__", "main")  # a Fortran program's main calls MAIN__

_stood: Any = None
_signalled = False
_selected: Any = None  # frame that `select` selected at this position


def select(answer: dict[str, Any]) -> bool:
    """Selects it if the rank has moved to its end or to a signal since the last call; else False.

    ANSWER: the server's state.  A frame that the user selects afterwards stays selected.
    """
    global _stood, _signalled, _selected
    here, before, signalled = (answer["serial"], answer["position"]), _stood, _signalled
    _stood, _signalled = here, False
    if here != before and not _is_selected():  # it stays selected when the user writes memory
        _selected = None
    if here != before and (signalled or (answer["at_end"] and not answer["branch"])):
        try:
            # If Python code runs, the frames belong to the interpreter.
            frame = None if pynames.place() is not None else innermost()
            if frame is not None:
                frame.select()
                _selected = frame
                gdb.execute("set language auto", to_string=True)
                _lines_are_of(frame)
                return True
        except gdb.error:
            return False  # there is no frame
    return False


def at_prompt() -> None:
    """Selects it at a prompt, where GDB has shown the innermost frame, and shows it."""
    try:
        innermost_is = gdb.newest_frame()
        if select(link.ask("state")) and gdb.selected_frame() != innermost_is:
            gdb.execute("frame")
    except (gdb.error, gdb.GdbError):
        return  # no frame or no rank: the next command reports that


def _lines_are_of(frame: Any) -> None:
    """Makes `break 8` mean the program's file: GDB has just shown a line of the library."""
    if frame.find_sal().symtab is not None:
        gdb.execute("frame", to_string=True)
        return
    for function in _MAINS:
        if gdb.lookup_global_symbol(function) is not None:
            gdb.execute(f"list {function},{function}", to_string=True)
            return


def from_here() -> None:
    """Hook before `finish`: makes it finish the innermost frame, as step and next do, unless the
    user has selected another frame."""
    if _is_selected():
        gdb.newest_frame().select()


def _is_selected() -> bool:
    """Is the frame selected that `select` selected?"""
    try:
        return _selected is not None and bool(gdb.selected_frame() == _selected)
    except gdb.error:
        return False  # there is no frame


def innermost() -> Any:
    """The innermost frame of the program's own code.

    After the return of `main` the program's outermost frame, which sees its globals and no statics
    of libraries.  None: there is none.
    """
    own = own_frames() or [frame for frame in frames() if in_own_file(frame)][-1:]
    return own[0] if own else None


def _stopped(event: Any) -> None:
    global _signalled
    if isinstance(event, gdb.SignalEvent):
        _signalled = event.stop_signal not in _OF_DEBUGGERS


@at_load
def define() -> None:
    gdb.execute(_HOOK, to_string=True)
    gdb.events.stop.connect(_stopped)
