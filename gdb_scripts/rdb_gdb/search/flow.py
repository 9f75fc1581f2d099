"""The source of a stored value: other memory, or a function that returned it.

A value is followed back from the store, instruction by instruction: through copies between
registers, through returns into the functions that were called, and from a function's arguments to
its caller.  Results are in rax, rdx, xmm0, xmm1, st0 and st1 (System V ABI for x86-64, 3.2.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gdb

from .. import link
from ..state import place
from ..values import symbols
from ..values.blocks import function_of
from . import instructions, searching
from .instructions import Instruction

_STEPS_MAX = 400
_RED_ZONE = 128  # bytes below the stack pointer that a function may use (ABI, 3.2.2)
_RESULTS = ("rax", "rdx", "xmm0", "xmm1")
_ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9", *(f"xmm{number}" for number in range(8)))
_KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")


@dataclass(frozen=True)
class Source:
    """The source of a value.

    The rank is before the instruction that loaded it from MEMORY (address, length) or computed it,
    or EVENT returned it.  FUNCTION: the function that returned it.  PASSED: the functions to which
    it was passed as an argument, innermost first.
    """

    function: str | None
    memory: tuple[int, int] | None = None
    event: int | None = None
    passed: tuple[str, ...] = ()


def of_stored(address: int, length: int) -> Source | None:
    """The source of what the next instruction stores into these bytes.

    None: it is computed here, or it is not known; then the rank does not move.
    """
    with link.calm(), symbols.speaking("c"):
        start = link.ask("name")["name"]
        store = instructions.here()
        stored = store.stored_at
        found = None
        if stored is not None:
            offset = max(0, address - stored) % (store.size or 1)
            found = _back_from(store, offset, min(store.size, offset + length))
        if found is None:
            place.seek(start)
        return found


def _back_from(store: Instruction, offset: int, width: int) -> Source | None:
    """The source of what is stored, of its bytes OFFSET to WIDTH."""
    copied = store.copied_into(None) if store.keeps(offset, width) else None
    register = instructions.register(copied)
    if register is None:
        memory = _memory(store, copied, store, offset, width)
        return None if memory is None else Source(None, memory)
    passed: list[str] = []
    event = link.ask("state")["event"]
    inside: list[str] = []  # functions that returned the value, outermost first
    # Of each: entry address, stack pointer there, and whether the register is one for results.
    entries: list[tuple[int, int, bool]] = []
    for _ in range(_STEPS_MAX):
        if register is None:
            return None
        after, pc = instructions.value(register), int(gdb.parse_and_eval("(long) $pc"))
        stepped = searching.ask("step-back")
        place.forget(stepped)
        if stepped["event"] != event:
            if instructions.value(register) == after:
                event = stepped["event"]
                continue
            if not inside or not all(result for _, _, result in entries):
                return None
            return Source(inside[-1], event=event, passed=tuple(passed))
        one = instructions.here()
        if one.name.startswith("call") and pc != one.next_pc and not inside:
            if register not in _ARGUMENTS:
                return None
            passed.append(_called_at(pc))
            continue
        if one.name.startswith("ret"):
            result = register in _RESULTS or register in instructions.x87_results()
            # What a called function does not use may stay in any register (gcc's -fipa-ra).
            if not result and register in _KEPT and _before_call(pc):
                event = link.ask("state")["event"]
                continue
            inside.append(str(place.plain(place.function())))
            entries.append((_start(), int(gdb.parse_and_eval("(long) $rsp")), result))
            continue
        if one.name.startswith("call") and pc != one.next_pc:
            inside.pop()  # the function did not change it
            entries.pop()
            continue
        if instructions.value(register) == after and not one.writes(register):
            continue
        if not all(result for _, _, result in entries):
            return None
        copied = one.copied_into(register) if one.keeps(offset, width) else None
        inner = instructions.register(copied)
        if inner is None:
            memory = _memory(one, copied, store, offset, width)
            if memory and inside and _is_as_before(memory, *entries[-1][:2]):
                memory = None
            if not (inside or memory or passed):
                return None
            return Source(inside[-1] if inside else None, memory, passed=tuple(passed))
        register, width = inner, min(width, one.size)
    return None


def _is_as_before(memory: tuple[int, int], start: int, above: int) -> bool:
    """Is the memory a local of the function that has not changed since its entry?"""
    if not int(gdb.parse_and_eval("(long) $rsp")) - _RED_ZONE <= memory[0] < above:
        return False
    here = link.ask("name")["name"]
    entry = searching.ask("last-at", addr=start, sp=above)["position"] if start else None
    if entry is None:
        return True
    asked = {"addr": memory[0], "length": memory[1], "from": entry, "to": here}
    found = searching.ask("changes", **asked, limit=1, frame=None)
    place.seek(here)
    return not found["rows"]


def _called_at(pc: int) -> str:
    """Name of the called function."""
    block = gdb.block_for_pc(pc)
    function = None if block is None else block.function
    if function is not None:
        return str(place.plain(function.print_name))
    symbol = re.match(
        r"(\S+?)(@plt)? (\+ \d+ )?in section ", gdb.execute(f"info symbol {pc:#x}", to_string=True)
    )
    return str(place.plain(symbol[1])) if symbol else f"the function at {pc:#x}"


def _start() -> int:
    """Entry address of the running function; 0: it has no debug information."""
    function = function_of(gdb.block_for_pc(int(gdb.parse_and_eval("(long) $pc"))))
    return 0 if function is None else int(function.value().address or 0)


def _before_call(returned_to: int) -> bool:
    """Goes back over a call that preserves the register, to the call instruction."""
    sp = int(gdb.parse_and_eval("(long) $rsp")) + 8  # without the return address
    call = instructions.call_before(returned_to)
    found = searching.ask("last-at", addr=call[0], sp=sp)["position"] if call else None
    if found is not None:
        place.seek(found)
    return found is not None


def _memory(
    one: Instruction, copied: str | None, store: Instruction, offset: int, width: int
) -> tuple[int, int] | None:
    """(address, length) of a load; None: it does more than load, or is not understood."""
    if copied is None or one.format != store.format:
        return None
    address, size = one.address(copied), min(one.size, width) - offset
    return (address + offset, size) if address is not None and size > 0 else None


def described(event: int) -> Any:
    return link.ask("describe", str(event))["text"]
