"""Fortran variables that may have no target: allocatables, pointers, optional arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import gdb

from . import elements

_TERM = re.compile(r"\s*%\s*\w+|\s*\([^()]*\)")
_ABOUT_THEM = re.compile(r"\b(allocated|associated|loc)\s*\(", re.IGNORECASE)
# GDB's errors for an array without a descriptor in memory: an optional one, or one that
# optimization has left in registers.
_NO_PLACE = {
    "Location address is not set": "not present, or optimized out",
    "via synthetic pointer": "optimized out",
}
_CLASS = ["_data", "_vptr"]  # components of gfortran's `class(...)` variables
_TARGETS = (
    *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_COMPLEX),
    *(gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_STRUCT),
)


def is_scalar(kind: Any) -> bool:
    """Is it a pointer to GDB, while the program means its target?"""
    kind = kind.strip_typedefs()
    return bool(kind.code == gdb.TYPE_CODE_PTR and kind.target().strip_typedefs().code in _TARGETS)


def _is_text(kind: Any) -> bool:
    of = kind.target().strip_typedefs() if kind.code == gdb.TYPE_CODE_PTR else kind
    return bool(of != kind and of.code == gdb.TYPE_CODE_STRING)


def targets(text: str) -> bool:
    """Does the expression mean targets, rather than ask whether there is one?"""
    return elements.language("") == "fortran" and _ABOUT_THEM.search(text) is None


def may_be(expression: str, meant: str, names: Iterable[tuple[int, int, str]]) -> bool:
    """May a part of EXPRESSION have no target, here or elsewhere?  MEANT: its translation."""
    of_fortran = elements.language("") == "fortran"
    return of_fortran and (("(*" in meant and "(*" not in expression) or bool(why(meant, names)))


def why(expression: str, names: Iterable[tuple[int, int, str]]) -> str:
    """A text about the part of an expression without a target here; empty: there is none.

    NAMES: those of its variables (words.names).
    """
    if elements.language("") != "fortran":
        return ""
    for _, end, name in names:
        while True:
            said = _state(expression[end - len(name) : end])
            if said:
                return f"{expression[end - len(name) : end].strip()} is {said}"
            more = _TERM.match(expression, end)
            if more is None:
                break
            name, end = expression[end - len(name) : more.end()], more.end()
    return ""


def _state(text: str) -> str:
    try:
        value = gdb.parse_and_eval(text)
        return of(value)
    except gdb.error as error:
        return no_place(error)


def no_place(error: gdb.error) -> str:
    """What GDB's error says of an array without a descriptor in memory; empty: something else."""
    return next((said for text, said in _NO_PLACE.items() if text in str(error)), "")


def of(value: Any) -> str:
    """not allocated, not associated, not present; empty: it has a target."""
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return of(value.referenced_value())
    if is_scalar(kind) or _is_text(kind):
        return "" if int(value) else "not allocated or not associated"
    if kind.code == gdb.TYPE_CODE_ARRAY:
        said = str(value.format_string(max_elements=1))
        return said[1:-1] if said in ("<not allocated>", "<not associated>") else ""
    if kind.code == gdb.TYPE_CODE_STRUCT and [one.name for one in kind.fields()][:2] == _CLASS:
        data = value["_data"]
        if data.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
            return of(data)
        return "" if int(data) else "not allocated or not associated"
    if value.is_optimized_out:
        return ""  # its address would call the program's malloc
    return "not present" if value.address is not None and not int(value.address) else ""
