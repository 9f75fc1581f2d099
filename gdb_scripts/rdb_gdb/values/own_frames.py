"""Which frames and symbols are the program's own, and which belong to a library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gdb

from .. import link
from . import symbols

_SYSTEM = ("/lib/", "/lib32/", "/lib64/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/")
_HEADERS = ("/usr/include/", "/usr/lib/")
_FRAMES_MAX = 1000


def own_file(name: str | None) -> bool:
    """Is it the program itself (None), or a library outside of the system's folders?"""
    name = (name or "").removeprefix("target:")
    program = symbols.program().removeprefix("target:")
    return not name.startswith(_SYSTEM) or name == program


def own_symtab(symtab: Any) -> bool:
    objfile = symtab.objfile
    return own_file((objfile.owner or objfile).filename)


def is_own(frame: Any) -> bool:
    symtab = frame.find_sal().symtab
    return symtab is not None and own_symtab(symtab)


def lacks(name: str, libraries_too: bool = False) -> bool:
    """True if surely none of the program's own files, at any time, has the name; LIBRARIES_TOO:
    nor any library."""
    return bool(_of_files("lacks", name, () if libraries_too else _SYSTEM))


def units_with(name: str) -> list[str]:
    """The program's own source files in which a variable may have the name."""
    return list(_of_files("units", name, _SYSTEM))


def _of_files(request: str, name: str, but: tuple[str, ...]) -> Any:
    program = symbols.program().removeprefix("target:")
    asked = json.dumps({"name": name, "but": but, "with": program})
    return link.ask(request, asked.encode("utf-8").hex())[request]


def in_own_file(frame: Any) -> bool:
    """Is the frame the program's own, also without debug information (`_start`)?"""
    return is_own(frame) or own_file(gdb.solib_name(int(frame.pc())))


def frames() -> Iterator[Any]:
    """All frames, innermost first, as far as the stack can be unwound."""
    try:
        frame: gdb.Frame | None = gdb.newest_frame()
        for _ in range(_FRAMES_MAX):
            if frame is None:
                return
            yield frame
            frame = frame.older()
    except gdb.error:
        return


def own_frames() -> list[Any]:
    """The program's own frames, innermost first; inline functions of system headers come last."""
    own = [frame for frame in frames() if is_own(frame)]
    return sorted(own, key=lambda one: in_header(line_of(one)[0]))


def line_of(frame: Any) -> tuple[Any, int]:
    """Symtab and line of a frame; symtab None: not known.

    An optimized function's instruction may belong to a line of an inline function of a system
    header which GDB does not show as a frame. Then it is the function's own line before it.
    """
    sal = frame.find_sal()
    function = frame.function()
    if sal.symtab is None or not in_header(sal.symtab) or function is None:
        return sal.symtab, sal.line
    symtab = function.symtab
    if symtab is None or in_header(symtab) or _inlined_from_header(frame):
        return sal.symtab, sal.line
    pc = int(frame.pc()) - (frame.level() > 0)  # a call's own line, not that of its return
    start, found = int(frame.block().start), None
    for entry in symtab.linetable() or ():
        if start <= entry.pc <= pc and entry.line and (found is None or entry.pc >= found.pc):
            found = entry
    return (sal.symtab, sal.line) if found is None else (symtab, found.line)


def _inlined_from_header(frame: Any) -> bool:
    """Is it an inline function of a system header?  GDB gives such a function the file of the call;
    its first line is the header's."""
    if frame.type() != gdb.INLINE_FRAME:
        return False
    block = frame.block()
    while block.function is None:
        block = block.superblock
    first = gdb.find_pc_line(int(block.start)).symtab
    return first is not None and in_header(first)


def in_header(symtab: Any) -> bool:
    """Is it a header of the system?"""
    return bool(symtab.fullname().startswith(_HEADERS))
