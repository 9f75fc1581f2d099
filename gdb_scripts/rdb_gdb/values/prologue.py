"""Arguments and locals at the beginning of a function, which has not stored them yet.

Without optimization a variable has one location for the whole function, on the stack.  The code of
the function's first line stores arguments there: GDB's breakpoints stop after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import gdb

from . import alive, symbols

_SYMBOL = re.compile(r"^Symbol (\S+) is ", re.MULTILINE)
_ON_STACK = re.compile(r"(?!multi-location).*?(DW_OP_fbreg|frame base)", re.DOTALL)


def unset(names: Iterable[str]) -> str:
    """A text about those of these variables; empty: there are none, or it is not known."""
    frame = gdb.selected_frame()
    function = alive.around(frame.pc()) if frame.level() == 0 else None
    if function is None or frame.pc() > (gdb.find_pc_line(function.start).last or 0):
        return ""
    said = _SYMBOL.split(symbols.scope(frame.pc()))
    on_stack = {name for name, text in zip(said[1::2], said[2::2]) if _ON_STACK.match(text)}
    found = [one for one in dict.fromkeys(names) if one in on_stack]
    return f"{', '.join(found)}: not stored yet, the function is just beginning" if found else ""
