"""What is x86-64's in the C half, outside of interposer/arch/x86_64.

Comments do not count.  DEBTS says what is there still; it may only become shorter.

Run: .venv/bin/python3 -m tools.machine [-v]

Exit code 1: a file has some and is no debt, or a debt is paid.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

INTERPOSER = Path(__file__).resolve().parent.parent / "interposer"
#: Assembly is so as a whole.
_ASSEMBLY = {".S", ".inc", ".s"}
_CODE = {".c", ".h", ".def", *_ASSEMBLY}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

PATTERNS = {
    "a register": r"""
        \bREG_(?:R[A-Z0-9]{1,2}|EFL|ERR|CR2|TRAPNO|CSGSFS|OLDMASK)\b | \bUC_REG\b
        | \bgregs?(?:_t)?\b | \bfpregs\b | \bEFLAGS_ | \buser_regs_struct\b
        | (?:->|\.)(?:r[abcd]x|r[sd]i|r[sbi]p|r8|r9|r1[0-5])\b
        | (?:->|\.)(?:eflags|[fg]s_base|orig_rax)\b""",
    "its vector state": r"\bxsave | \bavx | \b[xyz]mm\d | \b_(?:fpx_sw_bytes|libc_fpstate)\b",
    "assembly": r"""
        \bregister\b[^;]*\b(?:__asm__|asm)\b  # in a function; what names a symbol is none
        | \b(?:__asm__|asm)\s+(?:volatile|goto)\b | (?<!\)\s)(?<![)\w])\b(?:__asm__|asm)\s*\(""",
    "an intrinsic": r"""
        \b_mm\d*_ | \b(?:[a-z]mm|x86)intrin\.h | \b__builtin_(?:ia32_|cpu_) | \b__rdtscp?\b
        | \b_(?:read|write)[fg]sbase_ | \b_xgetbv\b""",
    "CPUID": r"\bcpuid\.h\b | \b__(?:get_)?cpuid",
    "the ABI": r"""
        \bR_X86_64_ | \bEM_X86_64\b | \bAUDIT_ARCH_ | \bARCH_(?:SET|GET)_ | \bSYS_arch_prctl\b
        | \bMAP_32BIT\b | \bx86[_-]64\b""",
    "instructions": r"""
        \b0x(?:0f|48|66|e8|e9|eb|cc|ff|f2|f3|c3|90)\s*,\s*0x[0-9a-f]{2}\b | \b0xcc\b
        | \{\s*0x(?:e8|e9|eb|90|c3)\s*\}""",
}
_ANY = re.compile("|".join(f"(?:{one})" for one in PATTERNS.values()), re.VERBOSE)

#: File -> what is left in it.
DEBTS: dict[str, str] = {}


class Found(NamedTuple):
    line: int
    text: str


def found(text: str) -> list[Found]:
    """The lines with something of x86-64."""
    bare = _COMMENT.sub(lambda it: "\n" * it.group().count("\n"), text)
    lines = enumerate(bare.splitlines(), 1)
    return [Found(n, line.strip()) for n, line in lines if _ANY.search(line)]


def everywhere(root: Path = INTERPOSER) -> dict[str, list[Found]]:
    """The files that have some, but for those of the machine and the headers that lead to them."""
    said = {}
    for path in sorted(one for one in root.rglob("*") if one.suffix in _CODE):
        name = str(path.relative_to(root))
        text = path.read_text()
        lines = [Found(1, "assembly")] if path.suffix in _ASSEMBLY else found(text)
        if name.startswith("arch/"):
            lines = [one for one in lines if not one.text.startswith('#include "arch/x86_64/')]
        if lines and not re.match(r"arch/\w+/", name):
            said[name] = lines
    return said


def wrong(root: Path = INTERPOSER, debts: dict[str, str] | None = None) -> list[str]:
    """What is against it."""
    having, owed = everywhere(root), DEBTS if debts is None else debts
    said = [
        f"{name}:{one.line}: {one.text}: this is x86-64's, and belongs to arch/x86_64"
        for name, lines in having.items()
        if name not in owed
        for one in lines
    ]
    return said + [f"{name} is paid: take it off DEBTS" for name in owed if name not in having]


def main(words: list[str]) -> int:
    """Says what is wrong."""
    said = wrong()
    print(*said, sep="\n", end="\n" if said else "")
    if "-v" in words:
        for name in DEBTS:
            print(f"{name}: {DEBTS[name]}")
    print(f"x86-64: {len(said)} wrong, {len(DEBTS)} debts")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
