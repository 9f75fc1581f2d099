"""Which frames and symbols are the program's own, and which are of a library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gdb

_SYSTEM = ("/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/")
_HEADERS = ("/usr/include/", "/usr/lib/")
_FRAMES_MAX = 1000


def own_file(name: str | None) -> bool:
    """The program itself (None), or a library that is not where the system keeps its own."""
    name = (name or "").removeprefix("target:")
    program = (gdb.current_progspace().filename or "").removeprefix("target:")
    return not name.startswith(_SYSTEM) or name == program


def own_symtab(symtab: Any) -> bool:
    objfile = symtab.objfile
    return own_file((objfile.owner or objfile).filename)


def is_own(frame: Any) -> bool:
    symtab = frame.find_sal().symtab
    return symtab is not None and own_symtab(symtab)


def frames() -> Iterator[Any]:
    """All of them, innermost first.  A stack that cannot be unwound ends there."""
    try:
        frame = gdb.newest_frame()
        for _ in range(_FRAMES_MAX):
            yield frame
            frame = frame.older()
            if frame is None:
                return
    except gdb.error:
        return


def own_frames() -> list[Any]:
    """The program's own, innermost first; inline functions of system headers come last."""
    own = [frame for frame in frames() if is_own(frame)]
    return sorted(own, key=lambda one: one.find_sal().symtab.fullname().startswith(_HEADERS))
