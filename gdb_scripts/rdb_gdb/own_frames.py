"""Which frames and symbols are the program's own, and which are of a library."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import gdb

from . import own_code

_SYSTEM = ("/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/")
_HEADERS = ("/usr/include/", "/usr/lib/")
_FRAMES_MAX = 1000
_TELLING = 4  # letters of a name that is not anywhere by chance


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


def lacks(name: str) -> bool:
    """Is there no such name in the program's own files?  Only said if the names of variables can be
    read there: a local's that GDB knows is there to compare with."""
    known = max(_locals(), key=len, default="")
    if len(known) < _TELLING:
        return False
    for objfile in gdb.objfiles():
        file_name = (objfile.owner or objfile).filename
        if not own_file(file_name) or file_name.endswith(own_code.FILE):
            continue
        try:
            with open(objfile.filename.removeprefix("target:"), "rb") as file:
                text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                if text.find(_ended(name)) >= 0 or text.find(_ended(known)) < 0:
                    return False
        except (OSError, ValueError):
            return False  # it is elsewhere, or empty
    return True


def _locals() -> Iterator[str]:
    """Names that are in debug information and, unlike those of functions, nowhere else."""
    for frame in own_frames():
        try:
            block = frame.block()
        except RuntimeError:
            continue
        while block is not None and not (block.is_static or block.is_global):
            yield from (symbol.name for symbol in block if symbol.needs_frame)
            block = block.superblock


def _ended(name: str) -> bytes:
    """As it stands in debug information, where it may be the end of a longer one."""
    return name.rpartition("::")[2].encode() + b"\0"


def in_own_file(frame: Any) -> bool:
    """Also of code without debug information, such as `_start`."""
    return is_own(frame) or own_file(gdb.solib_name(int(frame.pc())))


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
