"""What GDB knows of a name in a frame, and why there is no value."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import Any

import gdb

from . import elements, reserved, static_members, symbols
from .blocks import function_of
from .own_frames import own_symtab

FUNCTIONS = (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_METHOD)

_OF_TYPES = re.compile(
    r"no member named|has no component named|not a structure|[Cc]annot subscript|may be inlined"
    r"|Could not find operator|not lie in the elements|neither an array nor|no array in it"
)


class Undefined(gdb.GdbError):
    """The expression has no value here."""


class Meaningless(Undefined):
    """The program has nothing of a name in the expression."""


class Unbound(Undefined):
    """The expression means nothing in this frame; NAME: the unknown name."""

    def __init__(self, text: str, name: str | None = None) -> None:
        super().__init__(text)
        self.name = name

    @property
    def stays(self) -> bool:
        """Is this independent of the values?"""
        return self.name is not None or _OF_TYPES.search(str(self)) is not None


class Unsuited(Unbound):
    """It exists, but rdb cannot compute with it."""


class NotThere(Unbound):
    """The function that the name begins with runs, but has no such variable where it stands."""


class NoneOfOwn(Unbound):
    """Only a library has the name, which is not meant."""

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
    """The symbol of a name, and whether it is a member of `this`.

    FUNCTION::VARIABLE is known only in a frame of that function.  Raises Unbound elsewhere.
    """
    other, _, variable = name.rpartition("::")
    of_function = bool(other) and is_function(other)
    if of_function:
        if function is None or not _called_so(function, other):
            raise Unbound(f"{other} is not running")
        name = variable
    if block is None:
        return None, False
    try:
        symbol, member = symbols.find(name, block)
    except gdb.error:
        return None, False
    if of_function and not member and (symbol is None or not is_own(symbol)):
        raise NotThere(f'{other} has no "{variable}" here')
    if member and (static := static_members.of_this(name, block)):
        return static, False
    if symbol is not None and "::" in name and function is not None:
        static_members.need_one(name, symbol, function)
    return symbol, member


def is_function(name: str) -> bool:
    """Does it name a function, also without its class, namespace or module?"""
    with suppress(gdb.error):  # it may be a library's variable
        if symbols.evaluated(name).type.code in FUNCTIONS:
            return True
    space = symbols.program()
    if (space, name) not in _functions:
        _functions[space, name] = _is_end_of_function(name)
    return _functions[space, name]


_functions: dict[tuple[str, str], bool] = {}


def _is_end_of_function(name: str) -> bool:
    try:
        places = gdb.decode_line(name)[1] or ()
    except gdb.error:
        return False
    return any(map(partial(_is_in, name), places))


def _is_in(name: str, place: Any) -> bool:
    function = function_of(gdb.block_for_pc(place.pc))
    return function is not None and _called_so(function, name)


def _called_so(function: Any, name: str) -> bool:
    called = plain_name(function)
    if elements.of_fortran(function):
        name = name.lower()
        if called == "MAIN__":  # gfortran's name for `program main`
            return name == "main" or name == "main__"
    if re.search(r"(?:^|::)(\w+)::\1$", called) and not re.search(r"(?:^|::)(\w+)::\1$", name):
        return False  # a constructor: the name is its class's
    return called == name or called.endswith(f"::{name}")


def plain_name(function: Any) -> str:
    """A function's name as an expression has it: without parameters, template arguments and
    unnamed namespaces."""
    name = str(function.print_name).replace("(anonymous namespace)::", "")
    name = re.sub(r"\(.*", "", name)
    count = 1
    while count:
        name, count = re.subn(r"<[^<>]*>", "", name)
    return name


def is_own(symbol: Any) -> bool:
    return symbol.symtab is None or own_symtab(symbol.symtab)


def library_of(symbol: Any) -> str:
    objfile = symbol.symtab.objfile
    return str((objfile.owner or objfile).filename)


def constant_of_library(name: str) -> Any:
    """A library's symbol of a constant without an address, if the program has none; or None."""
    constants = (gdb.SYMBOL_LOC_CONST, gdb.SYMBOL_LOC_CONST_BYTES)
    found = [one for one in gdb.lookup_static_symbols(name) if one.addr_class in constants]
    return found[0] if found and not any(map(is_own, found)) else None


def value_key(name: str) -> tuple[int, Any] | None:
    """(address, type) of a name that GDB knows but its Python does not; None: it is no variable.

    The type is a type code for a function, None without debug information.  Raises Unbound.
    """
    try:
        value = symbols.evaluated(name)
        # value.address may call the program's malloc
        address = int(symbols.evaluated(f"&{name}"))
        function = value.type.code in FUNCTIONS
        return address, value.type.code if function else str(value.type)
    except gdb.error as error:
        if str(error).startswith(("No symbol ", "Cannot reference non-static field")):
            raise Unbound(str(error).rstrip("."), name) from None
        if symbols.language() == "fortran" and reserved.is_in(name):
            raise Unbound(f'No symbol "{name}" in current context', name) from None
        if "has unknown type" not in str(error):
            return None
    return int(symbols.evaluated(f"&{name}")), None


def key_of(symbol: Any) -> tuple[Any, ...]:
    symtab = symbol.symtab
    return (symbol.name, symbol.line, symtab.fullname() if symtab else None, symbol.needs_frame)
