"""rdb-fields: the members and elements of a value, as one line of JSON."""

from __future__ import annotations

import json
from typing import Any

import gdb

from ..state import meant
from ..values import elements, predicates
from ..values.quoting import unquoted
from .command import Command, command

_ELEMENTS = 200  # elements of an array, as GDB's `print elements`
_LEAVES = 20000
_NO_VALUE = (
    "<optimized out>",
    "<synthetic pointer>",
    "<unavailable>",
    "<not saved>",
)  # texts of GDB
_OF_MANY = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


@command("rdb-fields", gdb.COMMAND_DATA)
class Fields(Command):
    """Print the members of a value, and their members, one by one: rdb-fields EXPR
    For programs that drive GDB: one line of JSON, a list of [NAME, VALUE], the variables that
    were used, if these are not plainly the selected frame's, and all of them.  NAME is what
    follows EXPR, such as `.flow[2]`, or `%flow(2)` in Fortran.  [NAME, null, REASON] stands for a
    member without a value, or for the first of those that were left out."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = unquoted(argument)
        if not text:
            raise gdb.GdbError("Usage: rdb-fields EXPR")
        try:
            with meant.here(text) as whose:
                found = _rows(whose.text)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        gdb.write(json.dumps([found, whose.said, whose.bound]) + "\n")


def _rows(expression: str) -> list[list[str | None]]:
    found: list[list[str | None]] = []
    cut = False
    spoken = elements.language(expression)
    for name, value in elements.leaves(spoken, "", _first(expression), _ELEMENTS):
        if len(found) == _LEAVES:
            found.append([name, None, f"only the first {_LEAVES:,} members are compared"])
            break
        if value is not None:
            found.append(_row(name, value))
        elif not cut:
            cut = True
            reason = f"only the first {_ELEMENTS} elements of a dimension or container are compared"
            found.append([name, None, reason])
    return found


def _row(name: str, value: gdb.Value) -> list[str | None]:
    try:
        text = str(value)
    except gdb.error as error:
        return [name, None, str(error).rstrip(".")]
    return [name, None, no_value(text)] if text in _NO_VALUE else [name, text]


def no_value(text: str) -> str:
    return "value has been optimized out" if text == _NO_VALUE[0] else f"the value is {text}"


def _first(expression: str) -> Any:
    """The value; raises gdb.error for a plain value that cannot be read.  Members of a structure
    are read one by one."""
    value = predicates.value(expression)
    if value.type.strip_typedefs().code not in _OF_MANY:
        value.fetch_lazy()
    return value
