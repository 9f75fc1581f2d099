"""Inherited members of Fortran types, and members of `class(...)` variables.

The program writes `a%val`; the compiler has put it into `a%csr_t%val` or `a%_data%csr_t%val`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import gdb

from . import elements

if TYPE_CHECKING:
    from .variables import Variable

_MEMBER = re.compile(r"\s*%\s*(\w+)")
_WRAPPED = (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_ARRAY)
_OF_CLASS = "_data"


def in_full(text: str, variables: list[Variable], names: Iterable[tuple[int, int, str]]) -> str:
    """TEXT with the full path of each member.  NAMES: those of its variables (words.names)."""
    if elements.language("") != "fortran" or "%" not in text:
        return text
    types = {one.name: one.symbol.type for one in variables if one.symbol is not None}
    result, done = "", 0
    for _, end, name in names:
        kind = types.get(name)
        while kind is not None:
            end = _behind_indices(text, end)
            member = _MEMBER.match(text, end)
            if member is None:
                break
            between, kind = _way(_struct(kind), member[1].lower())
            result += text[done:end] + "".join(f"%{one}" for one in between)
            done, end = end, member.end()
    return result + text[done:]


def _behind_indices(text: str, end: int) -> int:
    opening = re.compile(r"\s*\(").match(text, end)
    if opening is None:
        return end
    depth, place = 1, opening.end()
    while place < len(text) and depth:
        depth += (text[place] == "(") - (text[place] == ")")
        place += 1
    return place


def _struct(kind: Any) -> Any:
    kind = kind.strip_typedefs()
    while kind.code in _WRAPPED:
        kind = kind.target().strip_typedefs()
    return kind if kind.code == gdb.TYPE_CODE_STRUCT else None


def _way(kind: Any, name: str) -> tuple[list[str], Any]:
    """The components that lead to a member, and its type; type None: there is no such member."""
    between: list[str] = []
    while kind is not None:
        fields = {str(one.name): one.type for one in kind.fields()}
        if name in fields:
            return between, fields[name]
        inner = _OF_CLASS if _OF_CLASS in fields else next(iter(fields), "")
        kind = _struct(fields[inner]) if inner else None
        if inner != _OF_CLASS and kind is not None and str(kind.name).lower() != inner:
            break  # no parent component: that has the name of its type
        between.append(inner)
    return [], None
