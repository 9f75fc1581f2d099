"""rdb-fields: a value with all its members and elements, as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

import gdb

from .command import Command

_ELEMENTS = 200  # of an array; GDB's own print stops there, too
_LEAVES = 20000
_OF_MANY = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY)


class Fields(Command):
    """Print the members of a value and theirs, one by one: rdb-fields EXPR
    For programs that drive GDB: one line of JSON, a list of [NAME, VALUE]; what follows EXPR is
    NAME, such as `.flow[2]`."""

    name = "rdb-fields"
    kind = gdb.COMMAND_DATA

    def invoke(self, argument: str, from_tty: bool) -> None:
        if not argument.strip():
            raise gdb.GdbError("Usage: rdb-fields EXPR")
        found: list[tuple[str, str]] = []
        try:
            for name, value in leaves("", _first(argument)):
                found.append((name, _text(value)))
                if len(found) == _LEAVES:
                    break
        except gdb.error as error:
            raise gdb.GdbError(str(error)) from None
        gdb.write(json.dumps(found) + "\n")


def leaves(name: str, value: gdb.Value) -> Iterator[tuple[str, gdb.Value]]:
    """Depth first, in the order of declaration."""
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and kind.fields():
        for field in kind.fields():
            if not hasattr(field, "bitpos"):  # static: not of this value
                continue
            inner = name if field.is_base_class else f"{name}.{field.name}" if field.name else name
            yield from leaves(inner, value[field])
    elif kind.code == gdb.TYPE_CODE_ARRAY and not _is_text(kind):
        low, high = kind.range()
        for index in range(low, min(high, low + _ELEMENTS - 1) + 1):
            yield from leaves(f"{name}[{index}]", value[index])
    else:
        yield name, value


def _is_text(kind: gdb.Type) -> bool:
    target = kind.target().strip_typedefs()
    return bool(target.code == gdb.TYPE_CODE_INT and target.sizeof == 1)


def _text(value: gdb.Value) -> str:
    try:
        return str(value)
    except gdb.error as error:
        return f"<{error}>"


def _first(expression: str) -> gdb.Value:
    """One value alone has to be there; of many each says for itself what is wrong with it."""
    value = gdb.parse_and_eval(expression)
    if value.type.strip_typedefs().code not in _OF_MANY:
        value.fetch_lazy()
    return value


def define() -> None:
    Fields()
