"""The frames of watchpoints' expressions, which GDB knows but does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gdb

from ..values import symbols
from . import meant

WATCHES = (
    gdb.BP_HARDWARE_WATCHPOINT,
    gdb.BP_WATCHPOINT,
    gdb.BP_READ_WATCHPOINT,
    gdb.BP_ACCESS_WATCHPOINT,
)
Scope = tuple[str, int]  # function, canonical frame address

_scopes: dict[int, Scope] = {}
_waiting: set[int] = set()


def uses_locals(expression: str) -> bool:
    """Does the expression name a variable that needs a frame, in the selected frame?"""
    if expression.startswith("-l"):
        return False
    for name in re.findall(r"[A-Za-z_]\w*", expression):
        try:
            symbol = symbols.find(name)[0]
        except gdb.error:
            continue
        if symbol is not None and symbol.needs_frame:
            return True
    return False


def frame_scope(frame: Any) -> Scope | None:
    older = frame.older()
    if older is None or not frame.name():
        return None
    return frame.name(), int(older.read_register("rsp"))


def created(point: Any) -> None:
    """Notes the frame of a new watchpoint."""
    if point.type not in WATCHES or point.number in _scopes:
        return
    try:
        if uses_locals(point.expression):
            scope = frame_scope(gdb.selected_frame())
            if scope is not None:
                _scopes[point.number] = scope
    except gdb.error:
        return  # there is no frame


def scope_of(number: int) -> Scope | None:
    return _scopes.get(number)


def find(scope: Scope) -> Any:
    """The frame of a scope in the present stack; None: it is not there."""
    frame: gdb.Frame | None = gdb.newest_frame()
    while frame is not None:
        if frame.name() == scope[0] and frame_scope(frame) == scope:
            return frame
        frame = frame.older()
    return None


def in_scope(point: Any) -> bool:
    scope = _scopes.get(point.number)
    if scope is not None:
        return find(scope) is not None
    return point.type not in WATCHES or meant.has_meaning(point.expression)


@contextmanager
def selected(point: Any) -> Iterator[None]:
    """Context in which a breakpoint can be enabled or get a condition: GDB then looks up its
    names."""
    expression = point.expression if point.type in WATCHES else None
    with selected_scope(_scopes.get(point.number), expression):
        yield


@contextmanager
def selected_scope(scope: Scope | None, expression: str | None) -> Iterator[None]:
    """Context in which the frame of SCOPE is selected; without SCOPE, a frame in which the names of
    EXPRESSION mean the program's variables."""
    if scope is None and expression:
        with meant.here(expression, as_gdb=True):
            yield
        return
    frame = find(scope) if scope is not None else None
    if frame is None:
        yield
        return
    frame.select()
    try:
        yield
    finally:
        gdb.newest_frame().select()


def park(point: Any) -> None:
    _waiting.add(point.number)


def waiting(point: Any) -> bool:
    return point.number in _waiting


def back(point: Any) -> None:
    _waiting.discard(point.number)
