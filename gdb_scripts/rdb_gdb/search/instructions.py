"""The instruction at the program counter, as far as it copies a value: operands, sizes, registers.

Registers have the names of their 64 bits (`rax`), of their 128 bits (`xmm0`), or, on the x87 stack,
of their physical place (`x87-3`), which stays when the stack's top moves (Intel SDM, volume 1,
8.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gdb

_OPERAND = r"(?:%fs:|\*)?[^,()]*(?:\([^()]*\))?"
_INSTRUCTION = re.compile(
    rf"(?:(?:bnd|rep|repz|notrack|data16|lock|rex\S*)\s+)*(\w+)\s*"
    rf"(?:({_OPERAND})(?:,({_OPERAND}))?(?:,({_OPERAND}))?)?"
)
_COPIES = re.compile(
    r"mov([bwlqd]|abs)?|movs[sd]|v?mov[dq]|v?movap[sd]|v?movup[sd]|v?movdq[au]|vmovs[sd]"
    r"|mov[sz][bw][wlq]|movslq|movsxd"
)
_SIZES = {"movb": 1, "movw": 2, "movl": 4, "movq": 8, "movss": 4, "movsd": 8, "movd": 4}
_NO_TARGET = re.compile(r"(cmp(?!xchg)|test|v?u?comis|bt$|push|j|call|nop|endbr|ret|leave|hlt|ud2)")
# Registers that are written without being the last operand.
_IMPLICIT = (
    (re.compile(r"i?(mul|div)[bwlq]?"), ("rax", "rdx")),
    (re.compile(r"c(wtd|ltd|qto)"), ("rdx",)),
    (re.compile(r"cmpxchg.*|lods.*|xlat.*|cpuid|rdtsc.*"), ("rax", "rbx", "rcx", "rdx")),
)
_PARTS = {
    **{f"{one}{end}": f"r{one}x" for one in "abcd" for end in ("l", "h")},
    **{f"{start}{one}x": f"r{one}x" for one in "abcd" for start in ("", "e", "r")},
    **{f"{start}{one}": f"r{one}" for one in ("si", "di", "bp", "sp") for start in ("", "e", "r")},
    **{f"{one}l": f"r{one}" for one in ("si", "di", "bp", "sp")},
    **{f"r{n}{end}": f"r{n}" for n in range(8, 16) for end in ("", "d", "w", "b")},
    **{f"{kind}mm{n}": f"xmm{n}" for n in range(16) for kind in "xyz"},
}
# Loads and stores of the x87 stack: of an integer or not, and the size's letters.
_X87_MOVES = re.compile(r"f(i?)(?:ld|sttp|stp?)(s|ll?|t)")
_X87_SIZES = {"s": 4, "l": 8, "t": 10, "is": 2, "il": 4, "ill": 8}
_X87_READS = re.compile(
    r"fi?stt?p?(s|ll?|t)|fu?com.*|ficom.*|ftst|fxam|fn?st[cs]w|fldcw|fn?stenv|ffreep?|f(inc|dec)stp"
    r"|fwait|fnop|fn?clex"
)
_X87_PUSHES = re.compile(r"fi?ld(s|ll?|t)|fld(1|z|pi|l2[te]|l[gn]2)|fbld")
_X87_OF_TOP = ("fchs", "fabs", "fsqrt", "fsin", "fcos", "frndint")


@dataclass(frozen=True)
class Instruction:
    name: str
    operands: list[str]
    text: str
    next_pc: int

    @property
    def pushes(self) -> bool:
        return self.name in ("push", "pushq") and len(self.operands) == 1

    @property
    def copied(self) -> str | None:
        """The source operand, if the instruction only copies it to the last operand."""
        if self.format is not None:
            return self.operands[0] if "ld" in self.name else "%st"
        plain = len(self.operands) == 2 and _COPIES.fullmatch(self.name)
        return self.operands[0] if plain else None

    @property
    def source(self) -> str | None:
        """The register that a store copies."""
        return register(self.operands[0] if self.pushes else self.copied)

    @property
    def format(self) -> str | None:
        """Of a load or store of the x87 stack: how memory has the number."""
        found = _X87_MOVES.fullmatch(self.name)
        return None if found is None or len(self.operands) != 1 else found[1] + found[2]

    @property
    def stored_at(self) -> int | None:
        if self.pushes:
            return int(gdb.parse_and_eval("(long) $rsp")) - 8
        return self.address(self.operands[-1]) if self.copied else None

    @property
    def size(self) -> int:
        """Bytes that are copied."""
        if self.pushes:
            return 8
        if self.name.startswith("f"):
            return _X87_SIZES[self.format or "t"]
        name = self.name.removeprefix("v")
        if re.fullmatch(r"mov[sz][bw][wlq]", name):
            return 1 if name[4] == "b" else 2
        if name in ("movslq", "movsxd"):
            return 4
        if name in _SIZES:
            return _SIZES[name]
        target = next((one[1:] for one in reversed(self.operands) if one[0] == "%"), "")
        if re.match(r"mov(ap|up|dq)", name):
            return {"x": 16, "y": 32, "z": 64}.get(target[:1], 0)
        if target.startswith("r"):
            return {"d": 4, "w": 2, "b": 1}.get(target[-1], 8) if target[1].isdigit() else 8
        return 4 if target.startswith("e") else 1 if target.endswith(("l", "h")) else 2

    def address(self, operand: str, of: Callable[[str], int] | None = None) -> int | None:
        """Address of an operand; None: it is no memory.  OF: the value of a register, if not the
        present one."""
        base, of = 0, of or value
        if operand.startswith("%fs:"):  # thread-local
            operand, base = operand[4:], int(gdb.parse_and_eval("(long) $fs_base"))
        found = re.fullmatch(r"(-?(?:0x)?[0-9a-f]+)?(?:\((%\w+)?(?:,(%\w+)?,?(\d)?)?\))?", operand)
        if found is None or not operand or operand[0] in "%$":
            return None
        if found[2] == "%rip":
            pointed = re.search(r"#\s*(0x[0-9a-f]+)", self.text)
            return int(pointed[1], 16) if pointed else None
        address = base + int(found[1] or "0", 0)
        for one, scale in ((found[2], 1), (found[3], int(found[4] or 1))):
            if one:
                address += scale * of(one[1:])
        return address & (1 << 64) - 1

    def writes(self, name: str) -> bool:
        """Does it write the register, even with an equal value?"""
        if name.startswith("x87"):
            return self.name.startswith("f") and name in self._x87_targets()
        implicit = () if self.name.startswith("imul") and len(self.operands) > 1 else _IMPLICIT
        if any(name in those and way.fullmatch(self.name) for way, those in implicit):
            return True
        if not self.operands or _NO_TARGET.match(self.name):
            return False
        written = self.operands if self.name.startswith(("xchg", "xadd")) else self.operands[-1:]
        return any(_whole(one) == name for one in written)

    def copy_into(self, name: str) -> str | None:
        """The register that it copies into NAME, which it writes; None: it does something else."""
        if name.startswith("x87"):
            return self._x87_copy_into(name)
        return register(self.copied)

    def _x87_targets(self) -> list[str]:
        if _X87_READS.fullmatch(self.name):
            return []
        if self.name == "fld" or _X87_PUSHES.fullmatch(self.name):
            return [_x87(-1)]
        if self.name == "fxch":
            return [_x87(0), register(self.operands[-1]) or _x87(1)]
        if self._is_of_stack:
            return [str(register(self.operands[-1]))]
        return (
            [_x87(0)]
            if self.operands or self.name in _X87_OF_TOP
            else [_x87(n) for n in (-1, 0, 1)]
        )

    @property
    def _is_of_stack(self) -> bool:
        """Is its last operand a register of the x87 stack?"""
        return bool(self.operands) and self.operands[-1].startswith("%st")

    def _x87_copy_into(self, name: str) -> str | None:
        if self.name == "fxch":
            return next((one for one in self._x87_targets() if one != name), None)
        if self.name in ("fst", "fstp") and self._is_of_stack:
            return _x87(0)
        return register(self.operands[0]) if self.name == "fld" and self._is_of_stack else None


def here() -> Instruction:
    pc = int(gdb.parse_and_eval("(long) $pc"))
    return next(between(pc, pc))[1]


def between(first: int, last: int) -> Iterator[tuple[int, Instruction]]:
    """(address, instruction) of those that begin at FIRST to LAST."""
    flavor = gdb.parameter("disassembly-flavor")
    gdb.execute("set disassembly-flavor att", to_string=True)
    try:
        found = gdb.selected_inferior().architecture().disassemble(first, last)
    finally:
        gdb.execute(f"set disassembly-flavor {flavor}", to_string=True)
    for one in found:
        yield one["addr"], _parsed(str(one["asm"]), one["addr"] + one["length"])


def calls_before(returns_to: int) -> Iterator[tuple[int, Instruction]]:
    """(address, instruction) of what may be the call that returns there."""
    for length in (8, 5, 2, 3, 6, 7):  # 8: of __tls_get_addr, whose call has prefixes
        at, one = next(between(returns_to - length, returns_to - length))
        if one.next_pc == returns_to and one.name.startswith("call"):
            yield at, one


def _parsed(text: str, next_pc: int) -> Instruction:
    found = _INSTRUCTION.fullmatch(re.sub(r"\s*[#<].*", "", text).strip())
    name, *operands = (text,) if found is None else found.groups()
    return Instruction(name, [one.strip() for one in operands if one], text, next_pc)


def register(operand: str | None) -> str | None:
    """The register that begins with the operand's bits; None: it is none."""
    return None if re.fullmatch("%[abcd]h", operand or "") else _whole(operand)


def _whole(operand: str | None) -> str | None:
    found = re.fullmatch(r"%st(?:\((\d)\))?", operand or "")
    if found is not None:
        return _x87(int(found[1] or 0))
    return _PARTS.get(operand[1:]) if operand and operand[0] == "%" else None


def value(register: str) -> int:
    if register.startswith("x87"):
        number = (int(register[4:]) - _top()) % 8
        shown: Any = gdb.parse_and_eval(f"$st{number}").format_string(format="x")
        return int(shown, 16)
    part = "v2_int64[0]" if register.startswith("xmm") else ""
    return int(gdb.parse_and_eval(f"${register}{'.' if part else ''}{part}"))


def x87_results() -> tuple[str, str]:
    """The registers in which a function returns a long double, and a complex one's second part."""
    return _x87(0), _x87(1)


def _x87(number: int) -> str:
    """The physical register that is st(NUMBER)."""
    return f"x87-{(_top() + number) % 8}"


def _top() -> int:
    return int(gdb.parse_and_eval("$fstat")) >> 11 & 7
