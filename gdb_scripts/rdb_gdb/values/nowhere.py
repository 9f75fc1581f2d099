"""Variables that the compiler has kept nowhere, and others that may lead to the same object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gdb

from . import wrapped

_SHOWN = 3


def kept_nowhere(symbol: Any) -> bool:
    """Has it no value anywhere in its function?"""
    return bool(symbol.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT and not symbol.type.dynamic)


def instead(symbol: Any) -> str:
    """Arguments of the same file's functions that are of its type, or lead to such an object:
    `domain in exchange, p in step`; empty: there are none."""
    wanted, found = _object(symbol.type), dict[str, None]()
    if wanted.strip_typedefs().code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return ""  # too many variables are numbers
    for block in _functions(symbol.symtab):
        name = block.function.print_name.partition("(")[0]
        for one in block:
            if (
                one.is_argument
                and one.name != "this"
                and not kept_nowhere(one)
                and _object(one.type) == wanted
            ):
                found[f"{one.name} in {name}"] = None
        if len(found) >= _SHOWN:
            break
    return ", ".join(list(found)[:_SHOWN])


def _functions(symtab: Any) -> Iterator[Any]:
    """Blocks of the functions, also inlined ones, to which the file's lines belong."""
    seen: set[tuple[int, int, str]] = set()
    for entry in symtab.linetable() or ():
        block = gdb.block_for_pc(entry.pc)
        while block is not None and not block.is_static:
            if block.function is not None:
                key = (block.start, block.end, str(block.function.name))
                if key not in seen:
                    seen.add(key)
                    yield block
            block = block.superblock


def _object(kind: Any) -> Any:
    """The type of the object that a variable of type KIND is, or leads to."""
    while True:
        kind = kind.strip_typedefs().unqualified()
        if kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            kind = kind.target()
        elif wrapped.kind_of(kind) in wrapped.POINTERS:
            kind = kind.template_argument(0)
        else:
            return kind
