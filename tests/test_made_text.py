"""Text that a program makes: what asks the machine there is answered from the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build
from faults import Rank

from rdb.recording import Kind

WAYS = ("rwx", "none", "writable", "exec", "again", "moved", "moved-rwx")
INSTRUCTIONS = {"rdtsc": 0, "rdtscp": 1, "rdrand": 2, "rdseed": 3, "cpuid": 4}
TIMES = 32
EVENTS_APART = 7
"""Of the checkpoints: some are taken between making the text and running it."""


def check(build: Build, folder: Path, way: str, instruction: str) -> None:
    rank = Rank.make(folder)
    often = ("--hash-every", "1", "--checkpoint-every", "1")
    program = build("made_texts.c", "-O1")
    assert rank.record(program, way, instruction, options=often) == 0
    asked = [r for r in rank.recording().records() if r.kind is Kind.TSC]
    assert sum(r.nr == INSTRUCTIONS[instruction] for r in asked) >= TIMES
    images = rank.recording().images
    assert len(images) > TIMES
    for image in (images[0], *images[-3 * TIMES :: EVENTS_APART]):
        code, answer, said = rank.verify("--checkpoint", str(image.number))
        assert (code, answer.get("ok")) == (0, True), (image, answer, said)


@pytest.mark.parametrize("instruction", INSTRUCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_instructions_in_text_that_was_made(
    way: str, instruction: str, build: Build, tmp_path: Path
) -> None:
    check(build, tmp_path, way, instruction)


@pytest.mark.parametrize("instruction", ["rdtsc", "rdtscp"])
def test_clocks_in_text_that_is_mapped_twice(
    instruction: str, build: Build, tmp_path: Path
) -> None:
    """Written through one mapping and run in the other."""
    check(build, tmp_path, "twice", instruction)
