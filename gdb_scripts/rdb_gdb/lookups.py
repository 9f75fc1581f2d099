"""What GDB knows of a name in a frame, and what stands in the way of a value."""

from __future__ import annotations

import re
from typing import Any

import gdb

from . import symbols
from .own_frames import own_symtab

FUNCTIONS = (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_METHOD)


class Undefined(gdb.GdbError):
    """The expression has no value here."""


class Unbound(Undefined):
    """It means nothing in this frame; of NAME the program has none."""

    def __init__(self, text: str, name: str | None = None) -> None:
        super().__init__(text)
        self.name = name


class NoneOfOwn(Unbound):
    """A library has one, which is not meant."""

    def __init__(self, name: str, library: str | None) -> None:
        self.library = short(library or "a library")
        super().__init__(
            f'No symbol "{name}" in the program\'s own code: {self.library} has one', name
        )


def short(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def seen(name: str) -> Any:
    try:
        return symbols.find(name)[0]
    except gdb.error:
        return gdb.lookup_global_symbol(name)


def block_of(frame: Any) -> Any:
    try:
        return frame.block()
    except RuntimeError:
        return None  # no debug information


def looked_up(name: str, frame: Any) -> Any:
    return lookup(name, block_of(frame), frame.function())[0]


def lookup(name: str, block: Any, function: Any) -> tuple[Any, bool]:
    """The symbol, or whether it is a member of `this`.  FUNCTION::VARIABLE is in that function's
    frame alone."""
    other, _, variable = name.rpartition("::")
    if other and is_function(other):
        if function is None or not _called_so(function, other):
            raise Unbound(f"{other} is not running")
        name = variable
    if block is None:
        return None, False
    try:
        return symbols.find(name, block)
    except gdb.error:
        return None, False


def is_function(name: str) -> bool:
    try:
        return bool(symbols.evaluated(name).type.code in FUNCTIONS)
    except gdb.error:
        return False


def _called_so(function: Any, name: str) -> bool:
    called = re.sub(r"\(.*", "", str(function.print_name))
    return called == name or called.endswith(f"::{name}")


def is_own(symbol: Any) -> bool:
    return symbol.symtab is None or own_symtab(symbol.symtab)


def library_of(symbol: Any) -> str:
    objfile = symbol.symtab.objfile
    return str((objfile.owner or objfile).filename)


def constant_of_library(name: str) -> Any:
    """A symbol that is nowhere in memory, and no file of the program's has one."""
    constants = (gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_CONST_BYTES)
    found = [one for one in gdb.lookup_static_symbols(name) if one.addr_class in constants]
    return found[0] if found and not any(map(is_own, found)) else None


def value_key(name: str) -> tuple[int, Any] | None:
    """Of a name that GDB knows but its Python does not: its address and type, the code of its type
    for a function, None for what has no debug information.  None at all: it is no variable."""
    try:
        value = symbols.evaluated(name)
        # value.address may call the program's malloc
        address = int(symbols.evaluated(f"&{name}"))
        function = value.type.code in FUNCTIONS
        return address, value.type.code if function else str(value.type)
    except gdb.error as error:
        if str(error).startswith("No symbol "):
            raise Unbound(str(error).rstrip("."), name) from None
        if "has unknown type" not in str(error):
            return None
    return int(symbols.evaluated(f"&{name}")), None


def key_of(symbol: Any) -> tuple[Any, ...]:
    symtab = symbol.symtab
    return (symbol.name, symbol.line, symtab.fullname() if symtab else None, symbol.needs_frame)
