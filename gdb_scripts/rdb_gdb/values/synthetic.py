"""Local pointers and references that the optimizer has removed, while what they lead to has a value
(DW_OP_implicit_pointer, a *synthetic pointer*).

GDB takes 0 for such a pointer, and may crash when it computes with a member of what it leads to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import gdb

from . import symbols
from .words import names

_LANGUAGES = ("c", "c++", "rust")
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_SAID = "<synthetic pointer>"
_MEMBER = re.compile(r"\s*->\s*")
_STAR = re.compile(r"(?:(?<=[^\w\s)\]}'\"])|^)(\s*)\*\s*\Z")
_COPIED = "(&__closure->__this)"
_STAND_IN = "$_rdb_target_"


class Removed(gdb.error):
    """The address is needed, which is nowhere."""


def is_removed(value: Any) -> bool:
    """Is it such a pointer or reference?"""
    kind = value.type.strip_typedefs()
    if value.is_optimized_out:
        return False
    if kind.code in _REFERENCES:
        return value.referenced_value().address is None
    return bool(kind.code == gdb.TYPE_CODE_PTR and _SAID in value.format_string(format="x"))


def for_gdb(text: str, members: list[str]) -> str:
    """TEXT with the values of what such variables lead to in this frame, and of members of `this`.

    Raises gdb.error where the address is needed.
    """
    frame: Any = gdb.selected_frame()
    if symbols.language() not in _LANGUAGES:
        return text
    copied = this_copied(frame)
    for start, end, name in reversed(list(names(text))):
        of_this = name in members
        if copied is not None and (of_this or name == "this"):
            text = f"{text[:start]}{_COPIED}{f'->{name}' * of_this}{text[end:]}"
            continue
        value = _local("this" if of_this else name, frame)
        if value is None or not is_removed(value):
            continue
        before, behind = text[:start], text[end:]
        if of_this:
            behind = f".{name}{behind}"
        elif value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
            star, member = _STAR.search(before), _MEMBER.match(behind)
            if member:
                behind = f".{behind[member.end() :]}"
            elif star:
                before = before[: star.start(1)]
            else:
                raise Removed(f"{name} is optimized out (what it points to may have a value).")
        text = f"{before}{_target(name if not of_this else 'this', value)}{behind}"
    return text


_OF_LOST = re.compile(r"optimized out|not located in memory|[Cc]annot call functions")


def lost(variables: Iterable[Any], error: gdb.error) -> str:
    """Which of these variables of this frame the optimizer has removed, or keeps in registers, if
    that is the reason for an error of GDB; empty: none."""
    if isinstance(error, Removed) or not _OF_LOST.search(str(error)):
        return ""
    values = [(one.name, _value(one)) for one in variables]
    for said, is_so in _LOST.items():
        found = [name for name, value in values if value is not None and is_so(value)]
        if found:
            return f"{', '.join(found)} {'are' if len(found) > 1 else 'is'} {said}"
    return ""


_LOST: dict[str, Callable[[Any], bool]] = {
    "optimized out": lambda value: bool(value.is_optimized_out),
    "not in memory": lambda value: value.address is None,
}


def _value(one: Any) -> Any:
    symbol = one.symbol
    if symbol is None or not (one.needs_frame or symbol.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT):
        return None
    try:
        return symbol.value(gdb.selected_frame())
    except (gdb.error, TypeError):
        return None  # it is of another frame


@contextmanager
def without_malloc(variables: Iterable[Any]) -> Iterator[None]:
    """Context in which GDB does not call the program's malloc to get a place for an array that is
    in no memory."""
    arrays = (_value(one) for one in variables if one.symbol and _is_array(one.symbol.type))
    if all(value is None or value.address is not None for value in arrays):
        yield
        return
    before = gdb.parameter("may-call-functions")
    gdb.execute("set may-call-functions off", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set may-call-functions {'on' if before else 'off'}", to_string=True)


def _is_array(kind: Any) -> bool:
    return bool(kind.strip_typedefs().code == gdb.TYPE_CODE_ARRAY)


def need_address(value: Any) -> None:
    """Raises Removed for such a pointer as the value of an expression."""
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR and is_removed(value):
        raise Removed("The pointer is optimized out.")


def this_copied(frame: Any) -> Any:
    """Pointer to the copy of an object in a closure, which `this` means there (`[*this]`); None:
    there is none."""
    try:
        closure = frame.read_var("__closure")
        copy = closure.dereference()["__this"]
    except (gdb.error, ValueError, RuntimeError):
        return None
    return copy.address if copy.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT else None


def held(text: str, members: list[str]) -> str:
    """TEXT, which is to be watched, with the object that `this` is here for members of `this`, and
    for `this` where it is in a register: neither means anything to GDB in other functions.

    Raises gdb.error.
    """
    frame: Any = gdb.selected_frame()
    result, end = "", 0
    for start, stop, name in names(text):
        of_this = name in members
        if not (of_this or (name == "this" and frame.read_var("this").address is None)):
            continue
        this = frame.read_var("this")
        if this.is_optimized_out or is_removed(this):
            raise gdb.error(f"{name}: this is optimized out here.")
        held_by = f"$_rdb_this_{int(this):x}"
        gdb.set_convenience_variable(held_by[1:], this)
        result += text[end:start] + held_by + f"->{name}" * of_this
        end = stop
    return result + text[end:]


def stands_in(text: str) -> bool:
    return _STAND_IN in text


def _local(name: str, frame: Any) -> Any:
    """The value of a local pointer or reference; None: the name is none."""
    try:
        symbol = symbols.find(name, frame.block())[0]
        if symbol is None or symbol.addr_class != gdb.SYMBOL_LOC_COMPUTED:
            return None
        if symbol.type.strip_typedefs().code not in (*_REFERENCES, gdb.TYPE_CODE_PTR):
            return None
        return symbol.value(frame)
    except (gdb.error, RuntimeError):
        return None


def _target(name: str, value: Any) -> str:
    target = value.referenced_value()
    target.fetch_lazy()
    gdb.set_convenience_variable(f"{_STAND_IN[1:]}{name}", target)
    return f"{_STAND_IN}{name}"
