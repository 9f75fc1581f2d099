"""Asking GDB in a language in which it survives the question.

GDB 13 fails an assertion (d_lookup_nested_symbol) when it looks in D for any name that is not a
local's, in what link-time optimisation has made an `<artificial>` unit of.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import gdb

_MADE = "<artificial>"
_MAKER = "GNU GIMPLE"  # who made the unit that the function is in, wherever it was written


def find(name: str, block: Any = None) -> tuple[Any, bool]:
    """As gdb.lookup_symbol: the symbol or None, and whether it is a member of `this`."""
    with _in("c") if _speaks_d() else nullcontext():
        found: tuple[Any, bool] = (
            gdb.lookup_symbol(name) if block is None else gdb.lookup_symbol(name, block)
        )
        return found


def evaluated(text: str) -> Any:
    """As gdb.parse_and_eval."""
    with evaluating():
        return gdb.parse_and_eval(text)


def in_c(text: str) -> Any:
    """The value of an expression that not every language has."""
    with _in("c"):
        return gdb.parse_and_eval(text)


def scope(pc: int) -> str:
    """Of `info scope`.  GDB 13 ends at a type in split debug information that it has not found,
    unless it is to print it in Ada."""
    with _in("ada"):
        return str(gdb.execute(f"info scope *{pc:#x}", to_string=True))


def evaluating() -> AbstractContextManager[None]:
    """For expressions that may have any name; what is said otherwise is in the frame's language."""
    return _in("c") if _speaks_d() and _made() else nullcontext()


@contextmanager
def _in(language: str) -> Iterator[None]:
    own = gdb.parameter("language")
    gdb.execute(f"set language {language}", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set language {own}", to_string=True)


def _speaks_d() -> bool:
    own = gdb.parameter("language")
    try:
        return own == "d" or bool(own == "auto" and gdb.selected_frame().language() == "d")
    except gdb.error:
        return False  # no frame


def _made() -> bool:
    try:
        return _is_made(gdb.selected_frame().function())
    except gdb.error:
        return False


def _is_made(function: Any) -> bool:
    symtab = None if function is None else function.symtab
    return symtab is not None and (symtab.filename == _MADE or _MAKER in (symtab.producer or ""))


def fatal_at(places: list[int]) -> bool:
    """Would GDB not survive to look up a name at one of these instructions?"""
    for pc in places:
        block = gdb.block_for_pc(pc)
        while block is not None and block.function is None:
            block = block.superblock
        function = None if block is None else block.function
        if _is_made(function) and str(function.linkage_name).startswith("_D"):
            return True
    return False


@contextmanager
def raising() -> Iterator[None]:
    """What a function in Python raises is why it has no value: GDB does not print it each time."""
    before = gdb.parameter("python print-stack")
    gdb.execute("set python print-stack none", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set python print-stack {before}", to_string=True)
