"""rdb-object: address and type of an expression, in any language, as one line of JSON."""

from __future__ import annotations

import json

import gdb

from ..search.watched import in_memory, length
from ..values import symbols
from ..values.quoting import unquoted
from .command import Command, command

_REALS = {4: "float", 8: "double", 16: "long double"}
_WHOLE = {1: "char", 2: "short", 4: "int", 8: "long"}


@command("rdb-object", gdb.COMMAND_DATA)
class Object(Command):
    """Print the address of a value: rdb-object EXPR
    For programs that drive GDB: one line of JSON with address, size and type, a name that
    `{TYPE} ADDRESS` takes."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = unquoted(argument)
        if not text:
            raise gdb.GdbError("Usage: rdb-object EXPR")
        value, address, _ = in_memory(text)
        found = {"address": address, "size": length(value.type), "type": _type(value.type, address)}
        gdb.write(json.dumps(found) + "\n")


def _type(kind: gdb.Type, address: int) -> str:
    """The name of a type for `{TYPE} ADDRESS`, which is C: `double` for Fortran's `real(kind=8)`,
    an array of char for types without a name in C."""
    try:
        if symbols.in_c(f"{{{kind}}} {address:#x}").type.sizeof == kind.sizeof:
            return str(kind)
    except gdb.error:
        pass  # the type has another name in C
    code = kind.strip_typedefs().code
    names = _REALS if code == gdb.TYPE_CODE_FLT else _WHOLE
    if code in (gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_INT, gdb.TYPE_CODE_BOOL):
        return names.get(kind.sizeof, f"char [{kind.sizeof}]")
    return f"char [{kind.sizeof}]"
