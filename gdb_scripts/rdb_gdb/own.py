"""The frame that a person looks at: the innermost of the program's own.

Where a recording ends, or a signal has stopped it, the innermost frame is one of a library, such as
`_exit` or `raise`, in which the program's names mean something else or nothing.
"""

from __future__ import annotations

from typing import Any

import gdb

from .own_frames import frames, in_own_file, own_frames

_OF_DEBUGGERS = ("SIGTRAP", "SIGINT", "0")

_stood: Any = None
_signalled = False


def select(answer: dict[str, Any]) -> None:
    """Selects it, if the rank has come to its end, or was stopped by a signal, since the last time.

    ANSWER is the server's: who then chooses another frame keeps it.
    """
    global _stood, _signalled
    here, before, signalled = (answer["serial"], answer["position"]), _stood, _signalled
    _stood, _signalled = here, False
    if here != before and (signalled or (answer["at_end"] and not answer["branch"])):
        try:
            frame = innermost()
            if frame is not None:
                frame.select()
                gdb.execute("set language auto", to_string=True)
        except gdb.error:
            return  # no frame here: nothing to select


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
    gdb.events.stop.connect(_stopped)
