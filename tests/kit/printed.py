"""Programs of Fortran that print what their comparisons are, four times over."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from conftest import run_rdb
from gdbdriver import in_console

_ROUNDS = 4


def expect_printed(folder: Path, program: Path, comparisons: Sequence[str]) -> None:
    """Records PROGRAM: after each of its writes, `print` says of COMPARISONS what it wrote."""
    done = run_rdb(folder, folder, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    rows = [row.split() for row in done.stdout.splitlines() if row.startswith(" ")]
    assert len(rows) == _ROUNDS
    asked = [f"print {one}" for one in comparisons]
    said = in_console(folder, "job", ["goto start", *["find-event write --next", *asked] * _ROUNDS])
    said.pop(0)
    for row in rows:
        said.pop(0)
        for one, printed in zip(comparisons, row, strict=True):
            seen = re.search(r"= \.(TRUE|FALSE)\.", answer := said.pop(0))
            assert seen and seen[1][0] == printed, f"{one}: {answer}"
