"""rdb-number: a value as a number, in any language, as one line of JSON."""

from __future__ import annotations

import json
from typing import Any

import gdb

from ..search import searching
from ..state import meant
from ..values import predicates, wrapped
from ..values.conditions import need_condition
from .command import Command, command

_WHOLE = (
    *(gdb.TYPE_CODE_INT, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_ENUM),
    *(gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_RANGE, gdb.TYPE_CODE_FLAGS),
)


@command("rdb-number", gdb.COMMAND_DATA)
class Number(Command):
    """Print a value as a number: rdb-number [--condition] EXPR
    For programs that drive GDB: one line of JSON, [TEXT, NUMBER, VARIABLES, BOUND]: what GDB
    prints, the number or null, the variables that were used, if these are not plainly the selected
    frame's, and all of them.  A logical value is 1 or 0 in every language.
    With --condition a constant is an error."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        options = searching.Options(argument, "rdb-number [--condition] EXPR", "--condition")
        text = options.need_text()
        if "--condition" in options:
            need_condition(text)
        try:
            with meant.here(text) as found:
                value = predicates.value(found.text)
                text = str(value.format_string(max_elements=8))
                said = [text, number(value), found.said, found.bound]
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        gdb.write(json.dumps(said) + "\n")


def number(value: Any) -> float | None:
    """The number that a value is; None: it is none."""
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return number(value.referenced_value())
    if value.is_optimized_out:
        return None
    if wrapped.kind_of(kind):
        value = wrapped.inner(value)
        return None if value is None else number(value)
    if kind.code == gdb.TYPE_CODE_FLT:
        return float(value)
    return int(value) if kind.code in _WHOLE else None
