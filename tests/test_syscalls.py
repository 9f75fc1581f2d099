"""Families of system calls: small programs, recorded, replayed, memory compared at every event."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_boundary import build, record

FAMILIES = ["sockets", "waiting", "files", "process", "ipc"]


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, tmp_path: Path) -> None:
    program = build(f"calls_{family}.c", tmp_path, "-lrt", "-lutil")
    native = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert native.returncode == 0, native.stdout
    made = record(tmp_path, program, "recorded")
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout), made.result
    made.expect_equal()
