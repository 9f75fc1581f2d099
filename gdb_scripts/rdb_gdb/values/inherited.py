"""Members of Fortran types: inherited ones, those of `class(...)` variables, texts.

The program writes `a%val`; the compiler has put it into `a%csr_t%val` or `a%_data%csr_t%val`.
A text of deferred length is a pointer to GDB; the compiler keeps its length in `a%_val_length`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import gdb

from . import elements, texts

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
    return _in_full(text, types, names)


def as_written(text: str) -> str:
    """TEXT without the compiler's component of a `class(...)` variable: no name of the program
    begins with an underscore.
    """
    return re.sub(rf"%{_OF_CLASS}\b", "", text) if elements.language("") == "fortran" else text


def in_full_at(text: str, block: Any, names: Iterable[tuple[int, int, str]]) -> str:
    """The same with the variables of a block.  In other languages it changes nothing."""
    found = {name: gdb.lookup_symbol(name, block)[0] for _, _, name in names}
    types = {name: one.type for name, one in found.items() if one is not None}
    return _in_full(text, types, names)


def _in_full(text: str, types: dict[str, Any], names: Iterable[tuple[int, int, str]]) -> str:
    added: list[tuple[int, str]] = []
    lengths: list[tuple[int, int, int, str]] = []
    for start, end, name in names:
        kind = types.get(name)
        while kind is not None:
            end = _behind_indices(text, end)
            member = _MEMBER.match(text, end)
            if member is None:
                break
            between, kind, length = _way(_struct(kind), member[1].lower())
            added.append((end, "".join(f"%{one}" for one in between)))
            if length:
                lengths.append((start, end, member.end(), length))
            end = member.end()
    texts_of = [
        (at, one)
        for start, end, behind, length in lengths
        for at, one in (
            (start, f"{texts.DEFERRED}("),
            (behind, f", {_with(added, text, start, end)}%{length})"),
        )
    ]
    return _with(added + texts_of, text, 0, len(text))


def _with(added: list[tuple[int, str]], text: str, start: int, end: int) -> str:
    """TEXT from START to END, with what is added there."""
    result, done = "", start
    for at, one in sorted(added, key=lambda each: each[0]):
        if start <= at <= end:
            result, done = result + text[done:at] + one, at
    return result + text[done:end]


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


def _way(kind: Any, name: str) -> tuple[list[str], Any, str]:
    """The components that lead to a member, and its type; type None: there is no such member.
    Then the component with its length, if it is a text of deferred length."""
    between: list[str] = []
    while kind is not None:
        fields = {str(one.name): one.type for one in kind.fields()}
        if name in fields:
            length = f"_{name}_length"
            deferred = length in fields and texts.has_no_length(fields[name])
            return between, fields[name], length if deferred else ""
        inner = _OF_CLASS if _OF_CLASS in fields else next(iter(fields), "")
        kind = _struct(fields[inner]) if inner else None
        if inner != _OF_CLASS and kind is not None and str(kind.name).lower() != inner:
            break  # no parent component: that has the name of its type
        between.append(inner)
    return [], None, ""
