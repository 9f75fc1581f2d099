"""The value that a function has just returned (System V ABI for x86-64, 3.2.3)."""

from __future__ import annotations

from typing import Any

import gdb

IN_RAX = (
    gdb.TYPE_CODE_INT,
    gdb.TYPE_CODE_ENUM,
    gdb.TYPE_CODE_BOOL,
    gdb.TYPE_CODE_CHAR,
    gdb.TYPE_CODE_PTR,
)
REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
AGGREGATES = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def returned(function: Any) -> str:
    """The value as text, right after the call; "" for void; rax if the type is not known."""
    raw = f"$rax = {shown(gdb.parse_and_eval('(long) $rax'))}"
    if function is None:
        return raw
    type_ = function.type.target().strip_typedefs()
    if type_.code == gdb.TYPE_CODE_VOID:
        return ""
    try:
        value = _value(type_, function.symtab.filename)
    except (gdb.error, ValueError):
        return raw
    return raw if value is None else shown(value)


def shown(value: Any) -> str:
    return str(value.format_string(max_elements=16, max_depth=2)).replace("\n", " ")


def _value(type_: Any, file: str) -> Any:
    if type_.code in IN_RAX and type_.sizeof <= 8:
        return gdb.parse_and_eval("(long) $rax").cast(type_)
    if type_.code in REFERENCES:
        pointer = type_.target().pointer()
        return gdb.parse_and_eval("(long) $rax").cast(pointer).dereference()
    if type_.code == gdb.TYPE_CODE_FLT:
        registers = {4: "$xmm0.v4_float[0]", 8: "$xmm0.v2_double[0]", 16: "$st0"}
        return gdb.parse_and_eval(registers[type_.sizeof]) if type_.sizeof in registers else None
    if type_.code in AGGREGATES:
        if type_.sizeof > 16:
            return gdb.parse_and_eval("(long) $rax").cast(type_.pointer()).dereference()
        # Whether a small C++ class is in registers depends on its constructors.
        return small(type_) if file.endswith(".c") else None
    return None


def small(type_: Any, general: list[int] | None = None, vector: list[int] | None = None) -> Any:
    """A value of at most two eightbytes, each in the next free register of its class.

    GENERAL: rax and rdx, VECTOR: xmm0 and xmm1; None: the present ones.  None as the result: a
    member is too long.
    """
    parts = (type_.sizeof + 7) // 8
    floating = [True] * parts
    for offset, leaf in _leaves(type_, 0):
        if leaf.code != gdb.TYPE_CODE_FLT:
            floating[offset // 8] = False
        elif leaf.sizeof > 8:
            return None
    words: dict[bool, list[Any]] = {
        False: list(general or ("(long) $rax", "(long) $rdx")),
        True: list(vector or ("$xmm0.v2_int64[0]", "$xmm1.v2_int64[0]")),
    }
    data = b""
    for one in floating:
        given = words[one].pop(0)
        word = given if isinstance(given, int) else int(gdb.parse_and_eval(given))
        data += (word & (1 << 64) - 1).to_bytes(8, "little")
    return gdb.Value(data[: type_.sizeof], type_)


def _leaves(type_: Any, offset: int) -> list[tuple[int, Any]]:
    """(byte offset, type) of all members without members."""
    type_ = type_.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_ARRAY:
        element = type_.target()
        count = type_.sizeof // max(element.sizeof, 1)
        return [
            leaf for i in range(count) for leaf in _leaves(element, offset + i * element.sizeof)
        ]
    if type_.code in AGGREGATES:
        return [
            leaf
            for field in type_.fields()
            for leaf in _leaves(field.type, offset + field.bitpos // 8)
        ]
    return [(offset, type_)]
