"""rdb-fields: a value with all its members and elements, as one line of JSON."""

from __future__ import annotations

import json

import gdb

from . import elements, meant, predicates
from .command import Command
from .quoting import unquoted

_ELEMENTS = 200  # of an array; GDB's own print stops there, too
_LEAVES = 20000
_OF_MANY = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


class Fields(Command):
    """Print the members of a value and theirs, one by one: rdb-fields EXPR
    For programs that drive GDB: one line of JSON, a list of [NAME, VALUE], and which variables they
    are of, if those are not plainly the selected frame's; what follows EXPR is NAME, such as
    `.flow[2]`, or `%flow(2)` in Fortran."""

    name = "rdb-fields"
    kind = gdb.COMMAND_DATA

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = unquoted(argument)
        if not text:
            raise gdb.GdbError("Usage: rdb-fields EXPR")
        found: list[tuple[str, str]] = []
        try:
            with meant.here(text) as whose:
                spoken = elements.language(whose.text)
                for name, value in elements.leaves(spoken, "", _first(whose.text), _ELEMENTS):
                    found.append((name, _text(value)))
                    if len(found) == _LEAVES:
                        break
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        gdb.write(json.dumps([found, whose.said]) + "\n")


def _text(value: gdb.Value) -> str:
    try:
        return str(value)
    except gdb.error as error:
        return f"<{error}>"


def _first(expression: str) -> gdb.Value:
    """One value alone has to be there; of many each says for itself what is wrong with it."""
    value = predicates.value(expression)
    if value.type.strip_typedefs().code not in _OF_MANY:
        value.fetch_lazy()
    return value


def define() -> None:
    Fields()
