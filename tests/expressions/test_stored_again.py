"""origin: an instruction that stores the value that is there already is the last store of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from gdbdriver import in_console

STORED = ["plain", "strings", "filled", "added", "swapped", "whole", "set", "copied"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_last_store(tmp_path: Path, build: Build, level: str) -> None:
    program = build("stored_again.c", level, "-w")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    asked = [line for one in STORED for line in (f"origin values.{one}", "undo")]
    more = ["last values.plain", "undo", "last --stores values.plain", "undo"]
    others = ["origin read_only", "undo", "origin often", "undo", "origin unchanged"]
    said = in_console(tmp_path, "job", [*asked, *more, *others])
    for name, one in zip(STORED, said[::2], strict=False):
        assert re.search(rf"^0 .* {name} \(\) at ", one.splitlines()[1]), f"{name}: {one}"
    assert " first (v=" in said[16] and " plain (v=" in said[18], said[16] + said[18]
    read_only, often, unchanged = said[20].splitlines(), said[22].splitlines(), said[24]
    assert " first () at " in read_only[1] and "later" not in said[20], said[20]
    assert " first () at " in often[1], said[22]
    assert often[1].endswith("  copied, or an equal value was stored later"), said[22]
    assert " main () at " in unchanged and "computed" in unchanged, unchanged
