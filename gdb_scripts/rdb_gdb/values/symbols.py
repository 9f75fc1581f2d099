"""Questions to GDB in a language in which it does not crash.

GDB 13 fails an assertion (d_lookup_nested_symbol) when it looks up a name in D that is no local, in
an `<artificial>` unit of link-time optimisation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import gdb

from .blocks import function_of

_MADE = "<artificial>"
_MAKER = "GNU GIMPLE"  # producer of a unit of link-time optimisation


def program() -> str:
    """The program's file, as GDB names it; "": not known yet."""
    space = gdb.current_progspace()
    return (space and space.filename) or ""


def find(name: str, block: Any = None) -> tuple[Any, bool]:
    """As gdb.lookup_symbol: the symbol or None, and whether it is a member of `this`."""
    with speaking("c") if _speaks_d() else nullcontext():
        found: tuple[Any, bool] = (
            gdb.lookup_symbol(name) if block is None else gdb.lookup_symbol(name, block)
        )
        return found


def evaluated(text: str) -> Any:
    """As gdb.parse_and_eval."""
    with evaluating():
        return gdb.parse_and_eval(text)


def in_c(text: str) -> Any:
    """The value of an expression of C, whatever the frame's language is."""
    with speaking("c"):
        return gdb.parse_and_eval(text)


def scope(pc: int) -> str:
    """The output of `info scope`, in Ada: in other languages GDB 13 crashes at a type whose split
    debug information is missing."""
    with speaking("ada"):
        return str(gdb.execute(f"info scope *{pc:#x}", to_string=True))


def function_start(pc: int) -> int | None:
    """Entry address of the function at PC; None: it has no symbol."""
    text = gdb.execute(f"info symbol {pc:#x}", to_string=True)
    found = re.match(r"\S.*?(?: \+ (\d+))? in section ", text)
    return pc - int(found[1] or 0) if found else None


def language() -> str:
    """GDB's language for expressions in the selected frame, as `show language` names it."""
    own = str(gdb.parameter("language"))
    if own == "auto":
        try:
            frame: Any = gdb.selected_frame()
            own = str(frame.language())
        except gdb.error:
            own = "unknown"  # no frame
    if own not in ("local", "unknown"):
        return own
    said = gdb.execute("show language", to_string=True)  # slower
    found = re.search(r'"(?:auto; currently )?([\w+-]+)"', said)
    return found[1] if found else "c"


def evaluating() -> AbstractContextManager[None]:
    """Context for evaluating an expression in the frame's language, unless GDB would crash."""
    return speaking("c") if _speaks_d() and _made() else nullcontext()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    own = gdb.parameter("language")
    gdb.execute(f"set language {language}", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set language {own}", to_string=True)


def _speaks_d() -> bool:
    own = gdb.parameter("language")
    try:
        frame: Any = gdb.selected_frame() if own == "auto" else None
        return own == "d" or bool(frame and frame.language() == "d")
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
    """Would GDB crash when it looks up a name at one of these addresses?"""
    for pc in places:
        function = function_of(gdb.block_for_pc(pc))
        if function and _is_made(function) and str(function.linkage_name).startswith("_D"):
            return True
    return False


@contextmanager
def raising() -> Iterator[None]:
    """Context in which GDB does not print errors of convenience functions in Python."""
    before = gdb.parameter("python print-stack")
    gdb.execute("set python print-stack none", to_string=True)
    try:
        yield
    finally:
        gdb.execute(f"set python print-stack {before}", to_string=True)
