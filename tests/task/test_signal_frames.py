"""What sigreturn(2) takes from a signal frame, natively, recorded and replayed."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from alone import record, verify_all
from conftest import Build


@pytest.mark.parametrize("how", [(), ("bad",)])
def test_as_the_kernel_does(tmp_path: Path, build: Build, how: tuple[str, ...]) -> None:
    """The alternate stack, also if a handler leaves it for good; frames that are not there."""
    program = build("signal_frames.c", "-O1", "-Wno-unused-parameter")
    native = deadlines.native([program, *how], check=False)
    assert native.returncode == (-11 if how else 0)
    made = record(tmp_path, program, *how, options=("--checkpoint-every", "10"))
    assert made.result.stdout == native.stdout, made.result.stderr
    assert made.result.returncode in ((-11, 139) if how else (0,))
    verify_all(made, "frames")
