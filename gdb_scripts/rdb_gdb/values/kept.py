"""What a local leads to while its function does not run.

A pointer, a reference and a dummy argument of Fortran lead to memory that outlives the function; a
number stays what it was.
"""

from __future__ import annotations

from typing import Any

import gdb

from .lookups import Undefined
from .variables import Variable

LANGUAGES = ("c", "c++", "fortran")
_NUMBERS = (
    *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_BOOL),
    *(gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM),
)
_FRAME_MAX = 8 << 20  # bytes of a function's frame, at most


def local(one: Variable, frame: Any) -> Variable | None:
    """The variable as what it is here.  None: its memory ends with its function.  Raises
    Undefined."""
    value = one.symbol.value(frame)
    # GDB 16 says it of an array of which only the bounds are.
    if value.address is None and value.is_optimized_out:
        raise Undefined(f"{one.name} is optimized out")
    kind = value.type.strip_typedefs()
    passed = frame.language() == "fortran" and one.symbol.is_argument
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        target = value.referenced_value().address
    elif passed and _of_class(kind):
        # The caller makes a descriptor for each call, which may lie where that of another call was.
        value.fetch_lazy()
        if _ends_with(frame, int(value["_data"])):
            return None
        return one._replace(kept=value, by_kept="($_rdb_at_{})")
    elif passed and value.address is not None and not _ends_with(frame, int(value.address)):
        target = value.address
    else:
        value.fetch_lazy()
        pointer = kind.code == gdb.TYPE_CODE_PTR and not _ends_with(frame, int(value))
        if not pointer and kind.code not in _NUMBERS:
            return None
        return one._replace(kept=value, by_kept="($_rdb_at_{})")
    if _ends_with(frame, int(target)):
        return None
    return one._replace(kept=target, by_kept="(*$_rdb_at_{})")


def _of_class(kind: Any) -> bool:
    """Is it the descriptor of a `class(...)` that is no array?"""
    if kind.code != gdb.TYPE_CODE_STRUCT:
        return False
    fields = {one.name: one.type for one in kind.fields()}
    return "_vptr" in fields and fields["_data"].strip_typedefs().code == gdb.TYPE_CODE_PTR


def member(name: str, frame: Any) -> Variable:
    """A member of the object whose member function runs in this frame."""
    this = frame.read_var("this")
    return Variable(name, None, (), False, kept=this, by_kept=f"($_rdb_at_{{}})->{name}")


def _ends_with(frame: Any, address: int) -> bool:
    """Is it in the memory of the frame's function, or of the one into which that is inlined?"""
    while frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    outer = frame.older()
    end = None if outer is None else int(outer.read_register("rsp"))
    # Not from its stack pointer on: at `ret` the function's memory is below that.
    return end is not None and end - _FRAME_MAX <= address < end
