"""rdb-fields: a value with all its members and elements, as one line of JSON."""

from __future__ import annotations

import json

import gdb

from . import elements, meant, predicates
from .command import Command
from .quoting import unquoted

_ELEMENTS = 200  # of an array; GDB's own print stops there, too
_LEAVES = 20000
_NO_VALUE = (
    "<optimized out>",
    "<synthetic pointer>",
    "<unavailable>",
    "<not saved>",
)  # GDB's words
_OF_MANY = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


class Fields(Command):
    """Print the members of a value and theirs, one by one: rdb-fields EXPR
    For programs that drive GDB: one line of JSON, a list of [NAME, VALUE], and which variables they
    are of, if those are not plainly the selected frame's; what follows EXPR is NAME, such as
    `.flow[2]`, or `%flow(2)` in Fortran. [NAME, null, REASON] is of one that has no value, or of
    the first of those that were left out."""

    name = "rdb-fields"
    kind = gdb.COMMAND_DATA

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = unquoted(argument)
        if not text:
            raise gdb.GdbError("Usage: rdb-fields EXPR")
        try:
            with meant.here(text) as whose:
                found = _rows(whose.text)
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        gdb.write(json.dumps([found, whose.said]) + "\n")


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


def _first(expression: str) -> gdb.Value:
    """One value alone has to be there; of many each says for itself what is wrong with it."""
    value = predicates.value(expression)
    if value.type.strip_typedefs().code not in _OF_MANY:
        value.fetch_lazy()
    return value


def define() -> None:
    Fields()
