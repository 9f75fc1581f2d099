"""Arguments and locals at the beginning of a function, which has not stored them yet.

Without optimization a variable has one location for the whole function, on the stack.  The code of
the function's first line stores arguments there: GDB's breakpoints stop after it.  In Fortran the
bounds of dummy arrays come after that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import gdb

from . import alive, symbols

_SYMBOL = re.compile(r"^Symbol (\S+) is ", re.MULTILINE)
_ON_STACK = re.compile(r"(?!multi-location).*?(DW_OP_fbreg|frame base)", re.DOTALL)


def unset(names: Iterable[str]) -> str:
    """A text about those of these variables; empty: there are none, or it is not known."""
    frame: Any = gdb.selected_frame()
    function = alive.around(frame.pc()) if frame.level() == 0 else None
    if function is None:
        return ""
    first = gdb.find_pc_line(function.start)
    storing = frame.pc() <= (first.last or 0)
    if not storing and not (frame.language() == "fortran" and frame.pc() <= _of_line(first)):
        return ""
    said = _SYMBOL.split(symbols.scope(frame.pc()))
    on_stack = {name for name, text in zip(said[1::2], said[2::2]) if _ON_STACK.match(text)}
    found = [one for one in dict.fromkeys(names) if one in on_stack]
    found = [one for one in found if storing or _has_computed_bounds(one, frame)]
    return f"{', '.join(found)}: not stored yet, the function is just beginning" if found else ""


def _of_line(first: Any) -> int:
    """The last address of the code for a function's first line: gfortran computes the bounds of
    dummy arrays there, behind the place of GDB's breakpoints."""
    end = first.last or 0
    while (more := gdb.find_pc_line(end + 1)).symtab and more.line == first.line and more.last:
        end = more.last
    return int(end)


def _has_computed_bounds(name: str, frame: Any) -> bool:
    symbol = symbols.find(name, frame.block())[0]
    kind = None if symbol is None else symbol.type.strip_typedefs()
    if kind is None or kind.code != gdb.TYPE_CODE_ARRAY or not kind.dynamic:
        return False
    try:
        return "allocatable" not in str(kind)  # its descriptor has them
    except gdb.error:  # what lies there now is no bound
        return True
