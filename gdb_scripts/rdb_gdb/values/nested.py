"""Procedures inside of others, which see the variables of those (Fortran, Ada, GNU C, D)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .blocks import function_block
from .lookups import Unbound, key_of, lookup
from .variables import Variable
from .words import names


def home_of(variables: list[Variable], block: Any) -> Any:
    """The function around that of BLOCK whose locals the variables are; None: they are not all
    those of one.

    They have values while it runs, whichever of the procedures inside of it does.
    """
    if _around(block) is None:
        return None
    locals_ = [one for one in variables if one.needs_frame]
    if any(one.symbol is None for one in locals_):
        return None
    declaring = _declaring({one.key for one in locals_}, block)
    home, inner = function_block(declaring), function_block(block)
    if home is None or key_of(home.function) == key_of(inner.function):
        return None
    return home.function if all(_same(one, declaring, home) for one in variables) else None


def uses_outer(expression: str, block: Any) -> bool:
    """Does it name a local of a function around that of BLOCK?"""
    if _around(block) is None:
        return False
    function = function_block(block).function
    for _, _, name in names(expression):
        symbol = None
        with suppress(Unbound):  # GDB reports that
            symbol = lookup(name, block, function)[0]
        if symbol is None or not symbol.needs_frame:
            continue
        home = function_block(_declaring({key_of(symbol)}, block))
        if home is not None and key_of(home.function) != key_of(function):
            return True
    return False


def _declaring(keys: set[tuple[Any, ...]], block: Any) -> Any:
    """The innermost block, from BLOCK outwards, that declares a symbol with one of the keys; None:
    there is none."""
    while block is not None and not block.is_static and not block.is_global:
        if any(key_of(symbol) in keys for symbol in block):
            return block
        block = block.superblock
    return None


def _same(variable: Variable, block: Any, home: Any) -> bool:
    """Does its name mean the same in BLOCK, which is in the function of HOME?"""
    if variable.symbol is None or variable.of_module:
        return True
    try:
        symbol = lookup(variable.name, block, home.function)[0]
    except Unbound:
        return False
    return symbol is not None and key_of(symbol) == variable.key


def _around(block: Any) -> Any:
    """The block of the function around that of BLOCK; None: there is none."""
    inner = function_block(block)
    return None if inner is None else function_block(inner.superblock)
