"""rdb-object: what an expression names in memory, as one line of JSON, whatever its language."""

from __future__ import annotations

import json

import gdb

from . import symbols
from .command import Command
from .quoting import unquoted
from .watched import in_memory

_REALS = {4: "float", 8: "double", 16: "long double"}
_WHOLE = {1: "char", 2: "short", 4: "int", 8: "long"}


class Object(Command):
    """Print where a value lies: rdb-object EXPR
    For programs that drive GDB: one line of JSON with address, size and type, a name that
    `{TYPE} ADDRESS` takes."""

    name = "rdb-object"
    kind = gdb.COMMAND_DATA

    def invoke(self, argument: str, from_tty: bool) -> None:
        text = unquoted(argument)
        if not text:
            raise gdb.GdbError("Usage: rdb-object EXPR")
        value, _ = in_memory(text)
        address = int(value.address)
        found = {"address": address, "size": value.type.sizeof, "type": _type(value.type, address)}
        gdb.write(json.dumps(found) + "\n")


def _type(kind: gdb.Type, address: int) -> str:
    """Fortran's `real(kind=8)` means nothing to `{TYPE} ADDRESS`, which is C: there it is `double`,
    and what C has no name for is bytes."""
    try:
        if symbols.in_c(f"{{{kind}}} {address:#x}").type.sizeof == kind.sizeof:
            return str(kind)
    except gdb.error:
        pass  # the languages' names for it differ
    code = kind.strip_typedefs().code
    names = _REALS if code == gdb.TYPE_CODE_FLT else _WHOLE
    if code in (gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_INT, gdb.TYPE_CODE_BOOL):
        return names.get(kind.sizeof, f"char [{kind.sizeof}]")
    return f"char [{kind.sizeof}]"


def define() -> None:
    Object()
