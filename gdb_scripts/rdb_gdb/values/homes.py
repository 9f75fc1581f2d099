"""Functions of the program that have a local of some name, whether they run or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import gdb

from . import symbols
from .lookups import plain_name, short
from .nowhere import kept_nowhere
from .own_frames import units_with

_BLOCK = re.compile(r"^ *block #\d+, .* in (0x[0-9a-f]+)\.\.(0x[0-9a-f]+)", re.MULTILINE)
_UNITS_MAX = 16
_SHOWN = 3
_CALLS = re.compile(r"(?:notrack |bnd |data16 |rex\S* )*call|syscall|sysenter|int\s")
_FOLDS_CASE = re.compile(r"\.f\w*\Z", re.IGNORECASE)


class Home(NamedTuple):
    """A function with such a local."""

    function: str
    file: str
    line: int
    lost: bool  # optimized out everywhere
    calls: bool  # may it be on the stack at an event?


_known: dict[tuple[str, str], list[Home]] = {}


def homes(name: str) -> list[Home]:
    """Those of the program's own code, as far as up to 16 source files have them."""
    key = (symbols.program(), name)
    if key not in _known:
        _known[key] = sorted(_found(name), key=lambda one: one[1:3])
    return _known[key]


def _found(name: str) -> list[Home]:
    found: dict[tuple[str, str, int], Home] = {}
    for unit in units_with(name)[:_UNITS_MAX]:
        try:
            places = gdb.decode_line(f"'{unit}':1")[1] or ()
        except gdb.error:
            continue  # none of its lines has code
        for one in (one for place in places for one in _of_unit(name, place.pc)):
            known = found.get(one[:3], one)
            found[one[:3]] = one._replace(
                lost=one.lost and known.lost, calls=one.calls or known.calls
            )
    return list(found.values())


def _of_unit(name: str, pc: int) -> Iterator[Home]:
    """Those of the compilation unit with the code at PC."""
    said = _BLOCK.split(gdb.execute(f"maint print symbols -pc {pc:#x}", to_string=True))
    word = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
    for start, end, text in zip(said[1::3], said[2::3], said[3::3]):
        if word.search(text) is None:
            continue
        span = (int(start, 16), int(end, 16))
        block: Any = gdb.block_for_pc(span[0])
        while block is not None and (block.start, block.end) != span:
            block = block.superblock
        symbol = None if block is None else _local(name, block)
        if symbol is None:
            continue
        while block.function is None:
            block = block.superblock
        yield Home(
            plain_name(block.function),
            short(symbol.symtab.filename),
            symbol.line,
            kept_nowhere(symbol),
            _has_calls(block),
        )


def _local(name: str, block: Any) -> Any:
    """The block's local of that name; None: it has none."""
    for one in block:
        folds = _FOLDS_CASE.search(one.symtab.filename) is not None
        if (one.is_variable or one.is_argument) and one.name == (name.lower() if folds else name):
            return None if block.is_static or block.is_global else one
    return None


def _has_calls(block: Any) -> bool:
    """Has the code of the function, or of its inlined copy, a call or a system call?"""
    code = gdb.selected_inferior().architecture().disassemble(block.start, block.end - 1)
    return any(_CALLS.match(one["asm"]) for one in code)


def told(name: str, found: list[Home], search: bool) -> str:
    """A text: `vol is a local of CalcEnergy (hydro.cc:88)`, and what to do."""
    shown = [one for one in found if not one.lost] or found
    of = [f"of {one.function} ({one.file}:{one.line})" for one in shown[:_SHOWN]]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    text = f"{name} is a local {' and '.join(of)}{more}"
    if shown[0].lost:
        return f"{text}, optimized out everywhere"
    return f"{text}; write {shown[0].function}::{name}" if search else f"{text}, not in scope here"
