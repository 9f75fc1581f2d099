"""Conditions that rdb cannot evaluate: GDB does, at each hit, which is said before it takes long.

GDB compiles a condition for the server where it can, and silently evaluates it itself where it
cannot (a function call, floating point, a convenience variable).
"""

from __future__ import annotations

from typing import Any

import gdb

from . import link, scopes
from .quoting import is_constant, unquoted

_looked_at: set[tuple[str, str]] = set()
# Of a place or a name that is not known here: no matter of compiling.
_ELSEWHERE = ("No symbol", "Function ", "No source file", "No line ", "malformed linespec")


def look(point: Any) -> None:
    """A breakpoint was made or changed, if only by being hit once more."""
    condition = point.condition
    plain = unquoted(condition or "")
    if condition and plain != condition.strip():
        _without_quotes(point, plain)
        return
    spec = (point.expression if point.type in scopes.WATCHES else point.location) or ""
    if not condition or point.pending or (spec, condition) in _looked_at or not link.opened():
        return
    _looked_at.add((spec, condition))
    if is_constant(condition):
        gdb.write(f"rdb: the condition of {point.number} is a constant, the same at every hit\n")
        return
    if not point.location:  # GDB does not survive to be asked about no place
        what = "watchpoint" if point.type in scopes.WATCHES else "catchpoint"
        reason = "only conditions of breakpoints go to the server"
    else:
        what, reason = "breakpoint", _why_not(spec, condition)
    if reason:
        gdb.write(
            f"rdb: GDB itself evaluates the condition of {what} {point.number}, which is slower: "
            f"{reason}\n"
        )


def _without_quotes(point: Any, plain: str) -> None:
    """As it is a text is true at every hit."""
    try:
        point.condition = plain
    except gdb.error as error:
        gdb.write(f"rdb: the condition of {point.number} is a text, true at every hit: {error}\n")


def _why_not(spec: str, condition: str) -> str:
    """GDB's reason why it cannot compile the condition there; empty: it can."""
    try:
        gdb.execute(f"maintenance agent-eval -at {spec}, {condition}", to_string=True)
    except gdb.error as error:
        text = str(error).rstrip(".")
        return "" if text.startswith(_ELSEWHERE) else text
    return ""


def define() -> None:
    gdb.events.breakpoint_created.connect(look)
    gdb.events.breakpoint_modified.connect(look)
