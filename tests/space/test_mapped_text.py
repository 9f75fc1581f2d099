"""Bytes that would be instructions where they were run: constants and data stay what they are."""

from __future__ import annotations

from pathlib import Path

import deadlines
from alone import record, verify_all
from conftest import Build


def test_constants_among_instructions(tmp_path: Path, build: Build) -> None:
    """In the text segment, by the linker; in a file that may be written to and run."""
    program = build("constants_in_text.c", "-O1", "-Wl,-z,noseparate-code")
    native = deadlines.native([program, tmp_path / "native"])
    options = ("--checkpoint-every", "5")
    made = record(tmp_path, program, tmp_path / "file", options=options)
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout)
    verify_all(made, "constants")


def test_where_a_program_hints_at(tmp_path: Path, build: Build) -> None:
    program = build("hints.c", "-O1")
    native = deadlines.native([program])
    made = record(tmp_path, program, options=("--checkpoint-every", "25"))
    assert (made.result.returncode, made.result.stdout) == (0, native.stdout)
    verify_all(made, "hints")
