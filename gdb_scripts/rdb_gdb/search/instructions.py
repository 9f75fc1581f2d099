"""The instruction at the program counter, as far as it copies a value: operands, sizes, registers.

Registers have the names of their 64 bits (`rax`), of their 128 bits (`xmm0`), or, on the x87 stack,
of their physical place (`x87-3`), which stays when the stack's top moves (Intel SDM, volume 1,
8.1.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import gdb

from ..values import symbols

_OPERAND = r"(?:%fs:|\*)?[^,(){}]*(?:\([^()]*\))?(?:\{\S*\})?"
_INSTRUCTION = re.compile(
    rf"(?:(?:bnd|repn?z?|notrack|data16|addr32|lock|[c-gs]s|rex\S*)\s+)*(\w+)\s*"
    rf"(?:({_OPERAND})(?:,({_OPERAND}))?(?:,({_OPERAND}))?(?:,({_OPERAND}))?)?"
)
_COPIES = re.compile(
    r"mov([bwlqd]|abs|be|nti)?|movs[sd]|v?mov[dq]|v?mov(ap|up|ntp)[sd]|v?movdq[au](8|16|32|64)?"
    r"|v?movntdqa?|v?lddqu|vmovs[sd]|mov[sz][bw][wlq]|movslq|movsxd|movs[bwlq]|stos|lods|bswap"
)
_SIZES = {"movb": 1, "movw": 2, "movl": 4, "movq": 8, "movss": 4, "movsd": 8, "movd": 4}
_STRINGS = {"movsb": 1, "movsw": 2, "movsl": 4, "movsq": 8}  # from memory to memory
# The conditions of cmov and fcmov: CF, PF, ZF, SF, OF (Intel SDM, volume 1, appendix B).
_FLAGS = (1, 4, 0x40, 0x80, 0x800)
_OPPOSITE = {
    **{"ae": "b", "ne": "e", "a": "be", "ns": "s", "np": "p", "no": "o", "ge": "l", "g": "le"},
    **{"nb": "b", "nbe": "be", "nu": "u"},
}
_NO_TARGET = re.compile(r"(cmp(?!xchg)|test|v?u?comis|bt$|push|j|call|nop|endbr|ret|leave|hlt|ud2)")
# These only read a memory operand, even if it is the last.
_READS = re.compile(
    r"cmp.*|v?p?test.*|bt[wlq]?|j.*|nop.*|prefetch.*|v?u?comis.*|i?(mul|div)[bwlq]?|scas.*"
    r"|f(?!n?st|ist|bstp|n?save|xsave).*|v?ldmxcsr|f?xrstor.*|clflush.*"
)
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
    **{f"{kind}mm{n}": f"xmm{n}" for n in range(32) for kind in "xyz"},
}
_FAR = 1 << 16  # bytes of one function that are decoded
# Loads and stores of the x87 stack: of an integer or not, and the size's letters.
_X87_MOVES = re.compile(r"f(i?)(?:ld|sttp|stp?)(s|ll?|t)")
_X87_SIZES = {"s": 4, "l": 8, "t": 10, "is": 2, "il": 4, "ill": 8}
_X87_READS = re.compile(
    r"fi?stt?p?(s|ll?|t)|fu?com.*|ficom.*|ftst|fxam|fn?st[cs]w|fldcw|fn?stenv|ffreep?|f(inc|dec)stp"
    r"|fwait|fnop|fn?clex"
)
_X87_PUSHES = re.compile(r"fi?ld(s|ll?|t)|fld(1|z|pi|l2[te]|l[gn]2)|fbld")
_X87_OF_TOP = ("fchs", "fabs", "fsqrt", "fsin", "fcos", "frndint")


class Instruction(NamedTuple):
    name: str
    operands: list[str]
    text: str
    next_pc: int

    def copied_into(self, target: str | None) -> str | None:
        """The operand that it does no more than copy into a register, or (None) into memory."""
        if self.name.startswith("f"):
            return self._x87_copied_into(target)
        if self._leaves:
            return "(%rbp)" if target == "rbp" else None
        if not self.operands:
            return None
        first, last = self.operands[0], self.operands[-1]
        if self._pushes:
            return first if target is None else None
        if self.name.startswith("xchg"):
            return first if _whole(last) == target else last
        if self.name.startswith("xadd") and target is not None:
            return last if _whole(first) == target else None
        if _whole(last) != target or (self.name in _STRINGS and self._repeats_itself):
            return None
        if self.name.startswith("cmov"):
            return first if _holds(self.name[4:]) else last
        if re.fullmatch("popq?", self.name):
            return "(%rsp)"
        is_copy = _COPIES.fullmatch(self.name) and len(self.operands) < 3
        is_stored = target is None and re.fullmatch("cmpxchg[bwlq]?", self.name)
        return first if is_copy or is_stored else None

    def keeps(self, start: int, end: int) -> bool:
        """Are these bytes of the target the same ones of the source, or all, in any order?"""
        last = self.operands[-1] if self.operands else ""
        if self.name in ("bswap", "movbe"):
            return start == 0 and end == self.size
        if self.name in ("movss", "movsd") and all(map(_whole, self.operands)):
            return end <= self.size  # the other bytes stay
        is_part = re.match("r", _whole(last) or "") and _size_of(last) < 4
        return not is_part or end <= _size_of(last)

    def stores_into(self, address: int, length: int) -> bool:
        """Does it store into these bytes, of which it is known to access some?"""
        if not self.operands:
            return False
        if self._pushes or self.name.startswith("call"):
            at, size = value("rsp") - 8, 8
        elif self.name in _STRINGS:
            at, size = self.address(self.operands[-1]) or 0, self.size
        else:
            return not _READS.fullmatch(self.name) and self._target is not None
        return at < address + length and address < at + size

    @property
    def _pushes(self) -> bool:
        return re.fullmatch("pushq?", self.name) is not None

    @property
    def _leaves(self) -> bool:
        return re.fullmatch("leaveq?", self.name) is not None

    @property
    def _count(self) -> int:
        return value("rcx") if self.text.startswith("rep ") else 1

    @property
    def _goes_down(self) -> bool:
        """Does a string instruction go to lower addresses (flag DF)?"""
        return bool(_eflags() & 0x400)

    @property
    def _repeats_itself(self) -> bool:
        """Does it read what it has written?"""
        apart = value("rsi") - value("rdi") if self._goes_down else value("rdi") - value("rsi")
        return 0 < apart < self.size

    @property
    def format(self) -> str | None:
        """Of a load or store of the x87 stack: how memory has the number."""
        found = _X87_MOVES.fullmatch(self.name)
        return None if found is None or len(self.operands) != 1 else found[1] + found[2]

    @property
    def stored_at(self) -> int | None:
        if self._pushes:
            return value("rsp") - 8
        return None if self.copied_into(None) is None else self._target

    @property
    def _target(self) -> int | None:
        """Address of the last operand; None: it is no memory."""
        at = self.address(self.operands[-1])
        # An address that uses rsp is that after the pop (Intel SDM, volume 2, POP).
        moved = 8 if self.name.startswith("pop") and "(%rsp" in self.operands[-1] else 0
        return at if at is None else at + moved

    @property
    def size(self) -> int:
        """Bytes that are copied."""
        if re.fullmatch("(push|pop|leave)q?", self.name):
            return 8
        if self.name.startswith("f"):
            return _X87_SIZES[self.format or "t"]
        if self.name in _STRINGS:
            return _STRINGS[self.name] * self._count
        name = self.name.removeprefix("v")
        if re.fullmatch(r"mov[sz][bw][wlq]", name):
            return 1 if name[4] == "b" else 2
        if name in ("movslq", "movsxd"):
            return 4
        if name in _SIZES:
            return _SIZES[name]
        return next((_size_of(one) for one in reversed(self.operands) if _whole(one)), 0)

    def address(self, operand: str, of: Callable[[str], int] | None = None) -> int | None:
        """Address of an operand; None: it is no memory.  OF: the value of a register, if not the
        present one."""
        base, of = 0, of or value
        operand = operand.partition("{")[0]  # without a mask
        if operand.startswith("%fs:"):  # thread-local
            operand, base = operand[4:], int(gdb.parse_and_eval("(long) $fs_base"))
        if re.match("%[de]s:", operand):  # of a string instruction
            operand = operand[4:]
            each = _STRINGS.get(self.name) or _size_of(self.operands[0]) or 1
            base = (1 - self._count) * each if self._goes_down else 0
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
        if self._leaves:
            return name in ("rbp", "rsp")
        if name.startswith("x87"):
            return self.name.startswith("f") and name in self._x87_targets()
        implicit = () if self.name.startswith("imul") and len(self.operands) > 1 else _IMPLICIT
        if any(name in those and way.fullmatch(self.name) for way, those in implicit):
            return True
        if not self.operands or _NO_TARGET.match(self.name):
            return False
        written = self.operands if self.name.startswith(("xchg", "xadd")) else self.operands[-1:]
        return any(_whole(one) == name for one in written)

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

    def _x87_copied_into(self, target: str | None) -> str | None:
        if self.format is not None:
            return self.operands[0] if "ld" in self.name else "%st"
        if self.name == "fxch":
            return "%st" if target != _x87(0) else (self.operands or ["%st(1)"])[-1]
        if self.name.startswith("fcmov"):
            return self.operands[0 if _holds(self.name[5:]) else -1]
        if self.name in ("fst", "fstp") and self._is_of_stack:
            return "%st"
        return self.operands[0] if self.name == "fld" and self._is_of_stack else None


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


def call_before(returns_to: int) -> tuple[int, Instruction] | None:
    """(address, instruction) of the call that returns there.

    None: there is none, or no instruction before it has a known address: from one, all instructions
    up to there are decoded, because the bytes of one may end like another.
    """
    line = gdb.find_pc_line(returns_to - 1)
    start = line.pc if line.symtab else symbols.function_start(returns_to - 1)
    if start is None or not start < returns_to <= start + _FAR:
        return None
    at = gdb.selected_inferior().architecture().disassemble(start, returns_to - 1)[-1]["addr"]
    _, one = next(between(at, at))
    return (at, one) if one.next_pc == returns_to and one.name.startswith("call") else None


def _parsed(text: str, next_pc: int) -> Instruction:
    found = _INSTRUCTION.fullmatch(re.sub(r"\s*[#<].*", "", text).strip())
    name, *operands = (text,) if found is None else found.groups()
    return Instruction(name, [one.strip() for one in operands if one], text, next_pc)


def register(operand: str | None) -> str | None:
    """The register that begins with the operand's bits; None: it is none."""
    return None if re.fullmatch("%[abcd]h", operand or "") else _whole(operand)


def _whole(operand: str | None) -> str | None:
    """The register of which the operand is a part; None: it is none."""
    found = re.fullmatch(r"%st(?:\((\d)\))?", operand or "")
    if found is not None:
        return _x87(int(found[1] or 0))
    return _PARTS.get(operand[1:]) if operand and operand[0] == "%" else None


def _size_of(operand: str) -> int:
    """Bytes of a register; 0: it is none."""
    name = operand[1:]
    whole = _whole(operand) or ""
    if whole.startswith("xmm"):
        return {"x": 16, "y": 32, "z": 64}[name[0]]
    if not whole or name == whole:
        return 8 if whole else 0
    if name[0] == "r":
        return {"d": 4, "w": 2}.get(name[-1], 1)
    return 4 if name[0] == "e" else 1 if name[-1] in "lh" else 2


def _eflags() -> int:
    return int(gdb.parse_and_eval("$eflags"))


def _holds(condition: str) -> bool:
    """Is the condition in the name of a conditional instruction true?"""
    carry, parity, zero, sign, overflow = (bool(_eflags() & one) for one in _FLAGS)
    of = {
        **{"b": carry, "e": zero, "be": carry or zero, "s": sign, "o": overflow},
        **{"p": parity, "u": parity, "l": sign != overflow, "le": zero or sign != overflow},
    }
    return not of[_OPPOSITE[condition]] if condition in _OPPOSITE else of[condition]


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
