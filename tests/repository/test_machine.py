"""What is x86-64's: what CI says when it is outside of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import machine


def test_nothing_is_outside_of_its_folder() -> None:
    said = machine.wrong()
    assert not said, "\n".join(said)


@pytest.mark.parametrize(
    "line",
    [
        "uc->uc_mcontext.gregs[REG_RIP] = 0;",
        "sp = frame->rsp;",
        'register long d __asm__("r10") = 0;',
        '__asm__ volatile("pause");',
        '__asm__("\\t.text");',
        "crc = _mm_crc32_u64(crc, word);",
        "__builtin_ia32_pause();",
        "#include <cpuid.h>",
        "if (e_machine != EM_X86_64)",
        "case R_X86_64_RELATIVE:",
        '#include "arch/x86_64/base/registers.h"',
        "static const uint8_t call[] = {0x0f, 0x05};",
        "uint8_t jump[5] = {0xe9};",
        "if (*text == 0xcc)",
    ],
)
def test_what_is_found(tmp_path: Path, line: str) -> None:
    assert machine.found(line)
    (tmp_path / "log").mkdir()
    (tmp_path / "log/a.c").write_text(f"int a;\n{line}\n")
    (tmp_path / "arch/x86_64").mkdir(parents=True)
    (tmp_path / "arch/x86_64/a.c").write_text(line)
    belongs = "this is x86-64's, and belongs to arch/x86_64"
    assert machine.wrong(tmp_path, {}) == [f"log/a.c:2: {line}: {belongs}"]
    assert machine.wrong(tmp_path, {"log/a.c": "it is"}) == []


@pytest.mark.parametrize(
    "line",
    [
        "/* as REG_RIP */",
        "uint64_t pc = uc_pc(uc);",
        'void f(void) __asm__("ibv_f");',
        "uint64_t mask = 0xff, bits = 0x90;",
        "prctl(PR_SET_TSC, PR_TSC_ENABLE);",
    ],
)
def test_what_is_not(line: str) -> None:
    assert machine.found(line) == []


def test_assembly_is_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log/a.S").write_text("/* nothing */\n")
    assert machine.wrong(tmp_path, {}) != []


def test_debts_that_are_paid(tmp_path: Path) -> None:
    assert machine.wrong(tmp_path, {"log/a.c": "it was"}) == ["log/a.c is paid: take it off DEBTS"]
