"""The instructions at which a variable has a value, from the debug information.

In optimised code a variable has a location only at some instructions, often at none at which the
program makes events.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import gdb

from .lookups import key_of
from .symbols import find as symbol_of
from .symbols import scope

_SYMBOL = re.compile(r"^Symbol (\S+) is ", re.MULTILINE)
_RANGE = re.compile(r"Range (0x[0-9a-f]+)-(0x[0-9a-f]+): (.*)")
_PIECE = re.compile(r"^Address range (0x[0-9a-f]+) to (0x[0-9a-f]+):", re.MULTILINE)
_JUMP = re.compile(r"(?:notrack |bnd )?j\w+\s+(0x[0-9a-f]+)")
_LEAVES = re.compile(r"(?:notrack |bnd |repz? )?(?:ret|jmp\s+\*)")

Ranges = list[tuple[int, int]]


def exits(symbols: list[Any], frame: Any) -> list[int]:
    """The last instructions of each range of the frame's function in which all SYMBOLS have a
    value.

    In the next range they may have another value.
    """
    found: dict[int, None] = {}
    for pc in _instances(symbols, frame):
        function = around(pc)
        if function is not None:
            ranges = _all_alive([one.name for one in symbols], pc)
            pieces = pieces_of(function)
            ranges = pieces if ranges is None else ranges
            for one in symbols:
                ranges = _common(ranges, _scope(one, pc))
            found.update(dict.fromkeys(_ways_out(ranges, pieces, frame.architecture())))
    return list(found)


def _scope(symbol: Any, pc: int) -> Ranges:
    """The block around PC that has the symbol."""
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_global:
        if any(key_of(one) == key_of(symbol) for one in block):
            return [(block.start, block.end)]
        block = block.superblock
    return [(0, 1 << 64)]


def exits_of_object(frame: Any) -> list[int]:
    """The same for the object of the member function, where the frame does not have it."""
    try:
        this = symbol_of("this", frame.block())[0]
    except RuntimeError:
        return []  # no debug information
    return exits([this], frame) if this is not None else []


def _instances(symbols: list[Any], frame: Any) -> Iterator[int]:
    """An address in the function, and in each inlined copy of it."""
    yield frame.pc() - (frame.level() > 0)
    symtab = frame.find_sal().symtab  # a symbol's symtab may be one of link-time optimisation
    for symbol in symbols:
        if symtab is None:
            continue
        try:
            places = gdb.decode_line(f"'{symtab.filename}':{symbol.line}")[1] or ()
        except gdb.error:
            continue  # no line of it has code
        for place in places:
            block = gdb.block_for_pc(place.pc)
            while block is not None and not block.is_global:
                if any(key_of(one) == key_of(symbol) for one in block):
                    yield place.pc
                block = block.superblock


def around(pc: int) -> Any:
    """The function around PC that is not inlined.  A procedure inside another one (Fortran's
    `contains`) is not around it in memory."""
    block, found = gdb.block_for_pc(pc), None
    while block is not None and not (block.is_static or block.is_global):
        if block.function is not None and block.start <= pc < block.end:
            found = block
        block = block.superblock
    return found


def pieces_of(function: Any) -> Ranges:
    """The address ranges of a function: rarely executed code is in a separate range."""
    said = gdb.execute(f"disassemble {function.start:#x}", to_string=True)
    found = _PIECE.findall(said)
    return [(int(low, 16), int(high, 16)) for low, high in found] or [
        (function.start, function.end)
    ]


def _all_alive(names: list[str], pc: int) -> Ranges | None:
    """Ranges in which all of NAMES have a value; None: everywhere in the function."""
    said = _SYMBOL.split(scope(pc))
    both: Ranges | None = None
    for name, text in zip(said[1::2], said[2::2]):
        if name not in names or not text.startswith("multi-location"):
            continue
        found = [(int(low, 16), int(high, 16), said) for low, high, said in _RANGE.findall(text)]
        mine = _joined(found)
        both = mine if both is None else _common(both, mine)
    return both


def _joined(ranges: list[tuple[int, int, str]]) -> Ranges:
    """Joins ranges that overlap, or are adjacent with the same location."""
    joined: Ranges = []
    before = ""
    for low, high, said in sorted(ranges):
        same = said == before and not said.startswith("a complex")  # GDB cuts its text short
        if joined and low < joined[-1][1] + same:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        elif low < high:
            joined.append((low, high))
        before = said
    return joined


def _common(some: Ranges, others: Ranges) -> Ranges:
    both = [(max(one[0], two[0]), min(one[1], two[1])) for one in some for two in others]
    return [(low, high) for low, high in both if low < high]


def _ways_out(ranges: Ranges, pieces: Ranges, architecture: Any) -> Iterator[int]:
    """The last instruction of each range, and those that jump or return out of it."""
    for one in itertools.chain(*(architecture.disassemble(low, high - 1) for low, high in pieces)):
        part = _part(ranges, one["addr"])
        if part is None:
            continue
        jump = _JUMP.match(one["asm"])
        if (
            _part(ranges, one["addr"] + one["length"]) != part
            or _LEAVES.match(one["asm"])
            or (jump and _part(ranges, int(jump[1], 16)) != part)
        ):
            yield one["addr"]


def _part(ranges: Ranges, pc: int) -> tuple[int, int] | None:
    return next(((low, high) for low, high in ranges if low <= pc < high), None)
