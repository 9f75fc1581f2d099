"""The frame that a person looks at: the innermost of the program's own.

Where a recording ends, or a signal has stopped it, the innermost frame is one of a library, such as
`_exit` or `raise`, in which the program's names mean something else or nothing.
"""

from __future__ import annotations

from typing import Any

import gdb

from . import link, pynames
from .own_frames import frames, in_own_file, own_frames

_HOOK = """define hook-finish
python import rdb_gdb.own; rdb_gdb.own.from_here()
end"""
_OF_DEBUGGERS = ("SIGTRAP", "SIGINT", "0")
_MAINS = ("MAIN__", "main")  # a Fortran program's main calls MAIN__

_stood: Any = None
_signalled = False
_selected: Any = None  # by `select`, where the rank stands


def select(answer: dict[str, Any]) -> bool:
    """Selects it if the rank has come to its end, or was stopped by a signal, since the last time.

    ANSWER is the server's: who then chooses another frame keeps it.  False: it has not.
    """
    global _stood, _signalled, _selected
    here, before, signalled = (answer["serial"], answer["position"]), _stood, _signalled
    _stood, _signalled = here, False
    if here != before:
        _selected = None
    if here != before and (signalled or (answer["at_end"] and not answer["branch"])):
        try:
            # Where a line of Python runs, the frames around it are the interpreter's.
            frame = None if pynames.place() is not None else innermost()
            if frame is not None:
                frame.select()
                _selected = frame
                gdb.execute("set language auto", to_string=True)
                _lines_are_of(frame)
                return True
        except gdb.error:
            return False  # no frame here: nothing to select
    return False


def at_prompt() -> None:
    """Of a GDB that a person types at: there GDB has shown the innermost frame."""
    try:
        innermost_is = gdb.newest_frame()
        if select(link.ask("state")) and gdb.selected_frame() != innermost_is:
            gdb.execute("frame")
    except (gdb.error, gdb.GdbError):
        return  # no frame, or no rank any more: the next command says so


def _lines_are_of(frame: Any) -> None:
    """`break 8` means the program's file: GDB has just shown a line of the library's."""
    if frame.find_sal().symtab is not None:
        gdb.execute("frame", to_string=True)
        return
    for function in _MAINS:
        if gdb.lookup_global_symbol(function) is not None:
            gdb.execute(f"list {function},{function}", to_string=True)
            return


def from_here() -> None:
    """`finish` leaves the innermost frame, which step and next go on in too, unless a person has
    chosen another."""
    try:
        if _selected is not None and gdb.selected_frame() == _selected:
            gdb.newest_frame().select()
    except gdb.error:
        return  # no frame here: `finish` says so


def innermost() -> Any:
    """Once `main` has returned, the program's outermost one: its globals can be seen there, and no
    library's statics."""
    own = own_frames() or [frame for frame in frames() if in_own_file(frame)][-1:]
    return own[0] if own else None


def _stopped(event: Any) -> None:
    global _signalled
    if isinstance(event, gdb.SignalEvent):
        _signalled = event.stop_signal not in _OF_DEBUGGERS


def define() -> None:
    gdb.execute(_HOOK, to_string=True)
    gdb.events.stop.connect(_stopped)
