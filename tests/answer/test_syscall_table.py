"""The table of system calls against the kernel's list, and its page in docs/."""

from __future__ import annotations

import errno
import re
from collections import Counter
from pathlib import Path

import pytest

from tools import syscall_docs

ROWS = syscall_docs.rows()
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
FUNCTIONS = "\n".join(
    path.read_text(encoding="utf-8") for path in syscall_docs.TABLE.parent.parent.rglob("*.c")
)


def test_every_call_of_the_kernel_has_one_row() -> None:
    assert Counter(row.name for row in ROWS) == Counter(syscall_docs.numbers().keys())


def test_rows_are_in_the_kernels_order() -> None:
    numbers = syscall_docs.numbers()
    assert [numbers[row.name] for row in ROWS] == sorted(numbers.values())


@pytest.mark.skipif(not HEADER.exists(), reason="no kernel headers here (linux-libc-dev)")
def test_the_kernels_list_is_that_of_this_machines_header() -> None:
    numbers = syscall_docs.numbers()
    header = re.findall(r"^#define __NR_(\w+)\s+(\d+)", HEADER.read_text(), re.MULTILINE)
    assert len(header) > 300
    newer = {name for name, number in header if int(number) > max(numbers.values())}
    for name, number in header:
        if name not in newer:
            assert numbers.get(name) == int(number), f"{name}: run tools/syscall_table.py"


def test_every_row_names_a_source() -> None:
    for row in ROWS:
        assert re.fullmatch(r"\w+\([2378]\)|[\w/]+\.c", row.source), row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_is_whole(row: syscall_docs.Row) -> None:
    if row.kind in ("NONE", "FAIL", "SAME"):
        assert len(row.reason) > 10
    if row.kind in ("FAIL", "SAME"):
        assert hasattr(errno, row.error)
    elif row.kind == "PASS":
        outputs = r"NOTHING|(FIX|RET|CAP|VAL|ARR|ERR)\(\d[\d, ]*\)|FN\(out_\w+\)"
        assert re.fullmatch(outputs, row.what), row
    if row.kind == "EMU" or row.what.startswith("FN("):
        function = row.what.removeprefix("FN(").removesuffix(")")
        assert re.search(rf"^(static )?(void|long) {function}\(", FUNCTIONS, re.MULTILINE), row


def test_the_page_is_what_the_table_says() -> None:
    assert syscall_docs.PAGE.read_text(encoding="utf-8") == syscall_docs.text(), (
        "docs/syscalls.md is stale: python -m tools.syscall_docs"
    )
