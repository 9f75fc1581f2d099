"""The program's function whose last call, a jump, led into a library.

Such a function is not on the stack any more: there the library's function seems to be called by the
function outside of it.
"""

from __future__ import annotations

import os
from typing import Any

import gdb

from ..state import place
from ..values import alive, pynames, symbols
from ..values.own_frames import frames, in_header, is_own, line_of, own_frames, own_symtab
from . import instructions, searching
from .instructions import Instruction

_FUNCTIONS_MAX = 16  # that jump to each other

_Ways = dict[int, Instruction]


def line() -> dict[str, Any] | None:
    """Function, file and line of the program's own code where GDB's frames do not have them: of
    Python, or of the jump into the library that runs here.

    None: the library was called, or it is not known what led there.
    """
    python = pynames.place()
    if python is not None:
        return python
    try:
        jump = _jump()
    except gdb.error:
        return None  # no frame, or memory that cannot be read
    if jump is None:
        return None
    there, block = gdb.find_pc_line(jump), alive.around(jump)
    if there.symtab is None or block is None:
        return None
    name = place.plain(block.function.print_name)
    return {"function": name, "file": there.symtab.fullname(), "line": there.line}


def innermost() -> dict[str, Any] | None:
    """Function, file and line of the innermost frame of the program's own code; None: there is
    none."""
    own = own_frames()
    if not own:
        return None
    symtab, number = line_of(own[0])
    name = place.plain(own[0].name())
    return {"function": name, "file": symtab.fullname(), "line": number}


def short() -> str | None:
    """Short text of the innermost line of the program's own code, and of the library's function
    that runs; None: there is none."""
    found = line()
    if found is None:
        own = own_frames()
        if not own:
            return None
        symtab, number = line_of(own[0])
        found = {"file": symtab.fullname(), "line": number}
        if own[0] == gdb.newest_frame() and not in_header(symtab):
            return f"{os.path.basename(found['file'])}:{found['line']}"
    return f"{os.path.basename(found['file'])}:{found['line']}, inside {place.function()}"


def place_of_own() -> str:
    """The same, or the innermost frame's place if there is no line of the program's own code."""
    return short() or place.short()


def is_own_line(pc: int) -> bool:
    """Is the instruction of a line of the program's own code, and not of an inline function of a
    system header?"""
    symtab = gdb.find_pc_line(pc).symtab
    return symtab is not None and own_symtab(symtab) and not in_header(symtab)


def _jump() -> int | None:
    inside, outside = None, None
    for outside in frames():
        if is_own(outside):
            break
        inside = outside
    if inside is None or outside is None or not is_own(outside):
        return None
    above = int(outside.read_register("rsp"))
    entered = _called(int(outside.pc()), above)
    functions: list[int] = []
    while entered is not None and entered not in functions:
        functions.append(entered)
        ways = _ways_out(functions)
        if len(ways) == 1 and not _is_indirect(*ways.values()):
            return next(iter(ways))
        there = (
            searching.ask("last-at", addr=list(ways), sp=above - 8).get("registers")
            if ways
            else None
        )
        if there is None:
            return None
        entered = _led_to(ways[there["rip"]], there)
        if not _is_own(entered):
            return int(there["rip"])
    return None


def _called(returns_to: int, sp: int) -> int | None:
    """The address of the called function; None: it is not the program's own, or not known."""
    call = instructions.call_before(returns_to)
    if call is None:
        return None
    at, one = call
    there: dict[str, int] | None = {}
    if _is_indirect(one) and "(%rip)" not in one.operands[0]:
        there = searching.ask("last-at", addr=at, sp=sp).get("registers")
    if there is None:
        return None
    entered = _led_to(one, there)
    return entered if _is_own(entered) else None


def _is_own(pc: int) -> bool:
    symtab = gdb.find_pc_line(pc).symtab
    return symtab is not None and own_symtab(symtab)


def _is_indirect(jump: Instruction) -> bool:
    return jump.operands[0].startswith("*")


def _led_to(one: Instruction, there: dict[str, int]) -> int:
    """The address to which a jump or a call led, by the registers THERE."""
    operand = one.operands[0]
    if not _is_indirect(one):
        return int(operand, 16)
    if operand[1] == "%":
        return there[operand[2:]]
    address = one.address(operand[1:], there.__getitem__) or 0
    pointer = gdb.lookup_type("unsigned long").pointer()
    return int(gdb.Value(address).cast(pointer).dereference())


_known: dict[tuple[str, int], tuple[_Ways, list[int]]] = {}


def _ways_out(functions: list[int]) -> _Ways:
    """The jumps out of these functions into others than the program's own; empty: not known.

    Adds those of the program's own functions to which they jump.
    """
    ways: _Ways = {}
    for entry in functions:
        key = symbols.program(), entry
        if key not in _known:
            _known[key] = _jumps(entry)
        mine, inner = _known[key]
        ways.update(mine)
        functions += [one for one in inner if one not in functions]
        if len(functions) > _FUNCTIONS_MAX:
            return {}
    return ways


def _jumps(entry: int) -> tuple[_Ways, list[int]]:
    """The jumps out of one function, and the program's own functions to which it jumps."""
    function = alive.around(entry)
    pieces = [] if function is None else alive.pieces_of(function)
    ways: _Ways = {}
    inner: list[int] = []
    for low, high in pieces:
        for at, one in instructions.between(low, high - 1):
            if not one.name.startswith("j") or not one.operands:
                continue
            target = 0 if _is_indirect(one) else _led_to(one, {})
            if any(first <= target < last for first, last in pieces):
                continue
            if target and _is_own(target):
                inner.append(target)
            else:
                ways[at] = one
    return ways, inner
