"""The source of a stored value: other memory, or a function that returned it.

A value is followed back from the store, instruction by instruction: through copies between
registers, through returns into the functions that were called, and from a function's arguments to
its caller.  Results are in rax, rdx, xmm0 and xmm1 (System V ABI for x86-64, 3.2.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gdb

from .. import link
from ..state import place
from ..values import symbols
from . import searching

_STEPS_MAX = 400
_RED_ZONE = 128  # bytes below the stack pointer that a function may use (ABI, 3.2.2)
_RESULTS = ("rax", "rdx", "xmm0", "xmm1")
_ARGUMENTS = ("rdi", "rsi", "rdx", "rcx", "r8", "r9", *(f"xmm{number}" for number in range(8)))
_KEPT = ("rbx", "rbp", "r12", "r13", "r14", "r15")
_OPERAND = r"(?:%fs:|\*)?[^,()]*(?:\([^()]*\))?"
_INSTRUCTION = re.compile(
    rf"(?:(?:bnd|rep|repz|notrack|data16|lock)\s+)*(\w+)\s*"
    rf"(?:({_OPERAND})(?:,({_OPERAND}))?(?:,({_OPERAND}))?)?"
)
_COPIES = re.compile(
    r"mov([bwlqd]|abs)?|movs[sd]|v?mov[dq]|v?movap[sd]|v?movup[sd]|v?movdq[au]|vmovs[sd]"
    r"|mov[sz][bw][wlq]|movslq|movsxd"
)
_SIZES = {"movb": 1, "movw": 2, "movl": 4, "movq": 8, "movss": 4, "movsd": 8, "movd": 4}
_NO_TARGET = re.compile(r"(cmp|test|v?u?comis|bt$|push|j|call|nop|endbr|ret|leave|hlt|ud2)")
_PARTS = {
    **{f"{one}{end}": f"r{one}x" for one in "abcd" for end in ("l", "h")},
    **{f"{start}{one}x": f"r{one}x" for one in "abcd" for start in ("", "e", "r")},
    **{f"{start}{one}": f"r{one}" for one in ("si", "di", "bp", "sp") for start in ("", "e", "r")},
    **{f"{one}l": f"r{one}" for one in ("si", "di", "bp", "sp")},
    **{f"r{n}{end}": f"r{n}" for n in range(8, 16) for end in ("", "d", "w", "b")},
    **{f"{kind}mm{n}": f"xmm{n}" for n in range(16) for kind in "xyz"},
}


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


@dataclass(frozen=True)
class _Instruction:
    name: str
    operands: list[str]
    text: str

    @property
    def pushes(self) -> bool:
        return self.name in ("push", "pushq") and len(self.operands) == 1

    @property
    def copied(self) -> str | None:
        """The source operand, if the instruction only copies it to the last operand."""
        plain = len(self.operands) == 2 and _COPIES.fullmatch(self.name)
        return self.operands[0] if plain else None


def of_stored(address: int) -> Source | None:
    """The source of what the next instruction stores at ADDRESS.

    None: it is computed here, or it is not known; then the rank does not move.
    """
    with link.calm(), symbols.speaking("c"):
        start = link.ask("name")["name"]
        store = _here()
        stored = _stored_at(store)
        found = None if stored is None else _back_from(store, max(0, address - stored))
        if found is None:
            place.seek(start)
        return found


def _stored_at(store: _Instruction) -> int | None:
    if store.pushes:
        return int(gdb.parse_and_eval("(long) $rsp")) - 8
    return _address(store, store.operands[-1]) if store.copied else None


def _back_from(store: _Instruction, offset: int) -> Source | None:
    """The source of a store's operand; OFFSET: of the wanted bytes in what is stored."""
    if store.pushes and _register(store.operands[0]) is None:
        address = _address(store, store.operands[0])
        return None if address is None else Source(None, (address + offset, 8 - offset))
    register = _register(store.operands[0] if store.pushes else store.copied)
    passed: list[str] = []
    event = link.ask("state")["event"]
    inside: list[str] = []  # functions that returned the value, outermost first
    entries: list[tuple[int, int]] = []  # entry address and stack pointer there, of each
    for _ in range(_STEPS_MAX):
        if register is None:
            return None
        after, pc = _value(register), int(gdb.parse_and_eval("(long) $pc"))
        stepped = searching.ask("step-back")
        place.forget(stepped)
        if stepped["event"] != event:
            if _value(register) == after:
                event = stepped["event"]
                continue
            if not inside:
                return None
            return Source(inside[-1], event=event, passed=tuple(passed))
        one = _here()
        if one.name.startswith("call") and pc != _next_pc(one) and not inside:
            if register not in _ARGUMENTS:
                return None
            passed.append(_called_at(pc))
            continue
        if one.name.startswith("ret"):
            if register in _RESULTS:
                inside.append(str(place.plain(place.function())))
                entries.append((_start(), int(gdb.parse_and_eval("(long) $rsp"))))
            elif register not in _KEPT or not _before_call(pc):
                return None
            continue
        if one.name.startswith("call") and pc != _next_pc(one):
            inside.pop()  # the function did not change it
            entries.pop()
            continue
        if _value(register) == after and not _is_target(one, register):
            continue
        copied = _register(one.copied)
        if copied is None:
            memory = _memory(one, offset)
            if memory and inside and _is_as_before(memory, entries):
                memory = None
            if not (inside or memory or passed):
                return None
            return Source(inside[-1] if inside else None, memory, passed=tuple(passed))
        register = copied
    return None


def _is_as_before(memory: tuple[int, int], entries: list[tuple[int, int]]) -> bool:
    """Is the memory a local of the function that has not changed since its entry?"""
    start, above = entries[-1]
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
    return str(place.plain(function.print_name)) if function else f"the function at {pc:#x}"


def _start() -> int:
    """Entry address of the running function; 0: it has no debug information."""
    block = gdb.block_for_pc(int(gdb.parse_and_eval("(long) $pc")))
    while block is not None and block.function is None:
        block = block.superblock
    function = None if block is None else block.function
    return 0 if function is None else int(function.value().address or 0)


def _here() -> _Instruction:
    flavor = gdb.parameter("disassembly-flavor")
    gdb.execute("set disassembly-flavor att", to_string=True)
    try:
        pc = int(gdb.parse_and_eval("(long) $pc"))
        text = gdb.selected_inferior().architecture().disassemble(pc)[0]["asm"]
    finally:
        gdb.execute(f"set disassembly-flavor {flavor}", to_string=True)
    found = _INSTRUCTION.fullmatch(re.sub(r"\s*[#<].*", "", text).strip())
    if found is None:
        return _Instruction(text, [], text)
    return _Instruction(found[1], [one.strip() for one in found.groups()[1:] if one], text)


def _next_pc(one: _Instruction) -> int:
    pc = int(gdb.parse_and_eval("(long) $pc"))
    return pc + int(gdb.selected_inferior().architecture().disassemble(pc)[0]["length"])


def _register(operand: str | None) -> str | None:
    return _PARTS.get(operand[1:]) if operand and operand[0] == "%" else None


def _value(register: str) -> int:
    part = "v2_int64[0]" if register.startswith("xmm") else ""
    return int(gdb.parse_and_eval(f"${register}{'.' if part else ''}{part}"))


def _is_target(one: _Instruction, register: str) -> bool:
    """Does it write the register, even with an equal value?"""
    if not one.operands or _NO_TARGET.match(one.name):
        return False
    return _register(one.operands[-1]) == register


def _before_call(returned_to: int) -> bool:
    """Goes back over a call that preserves the register, to the call instruction."""
    sp = int(gdb.parse_and_eval("(long) $rsp")) + 8  # without the return address
    architecture = gdb.selected_inferior().architecture()
    for length in (5, 2, 3, 6, 7):
        one = architecture.disassemble(returned_to - length)[0]
        if one["length"] == length and "call" in one["asm"]:
            found = searching.ask("last-at", addr=returned_to - length, sp=sp)["position"]
            if found is not None:
                place.seek(found)
                return True
    return False


def _memory(one: _Instruction, offset: int) -> tuple[int, int] | None:
    """(address, length) of a load; None: it does more than load, or is not understood."""
    if one.copied is None:
        return None
    address, size = _address(one, one.operands[0]), _size(one) - offset
    return (address + offset, size) if address is not None and size > 0 else None


def _address(one: _Instruction, operand: str) -> int | None:
    """Address of an operand; None: it is no memory, or thread-local."""
    found = re.fullmatch(r"(-?(?:0x)?[0-9a-f]+)?(?:\((%\w+)?(?:,(%\w+)?,?(\d)?)?\))?", operand)
    if found is None or operand[0] in "%$":
        return None
    if found[2] == "%rip":
        pointed = re.search(r"#\s*(0x[0-9a-f]+)", one.text)
        return int(pointed[1], 16) if pointed else None
    address = int(found[1] or "0", 0)
    for register, scale in ((found[2], 1), (found[3], int(found[4] or 1))):
        if register:
            address += scale * _value(register[1:])
    return address & (1 << 64) - 1


def _size(one: _Instruction) -> int:
    name = one.name.removeprefix("v")
    if re.fullmatch(r"mov[sz][bw][wlq]", name):
        return 1 if name[4] == "b" else 2
    if name in ("movslq", "movsxd"):
        return 4
    if name in _SIZES:
        return _SIZES[name]
    target = one.operands[1][1:]
    if re.match(r"mov(ap|up|dq)", name):
        return {"x": 16, "y": 32, "z": 64}.get(target[:1], 0)
    if target.startswith("r"):
        return {"d": 4, "w": 2, "b": 1}.get(target[-1], 8) if target[1].isdigit() else 8
    return 4 if target.startswith("e") else 1 if target.endswith(("l", "h")) else 2


def described(event: int) -> Any:
    return link.ask("describe", str(event))["text"]
