"""Text that a program makes: what asks the machine there is answered from the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Build
from faults import Rank

from rdb.doctor.machine import Machine
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


CPUID_TRAPS = pytest.mark.skipif(
    not Machine().ability("cpuid_faulting"), reason="this processor cannot make CPUID fault"
)


@pytest.mark.parametrize(
    ("way", "instruction"),
    [
        ("twice", "rdtsc"),
        ("twice", "rdtscp"),
        ("later", "rdtsc"),
        ("later", "rdtscp"),
        pytest.param("twice", "cpuid", marks=CPUID_TRAPS),
        pytest.param("later", "cpuid", marks=CPUID_TRAPS),
        pytest.param("file", "cpuid", marks=CPUID_TRAPS),
    ],
)
def test_what_traps_in_text_that_nobody_has_looked_at(
    way: str, instruction: str, build: Build, tmp_path: Path
) -> None:
    """Written through one mapping and run in the other; or where other text has run before."""
    check(build, tmp_path, way, instruction)


@pytest.mark.parametrize("instruction", ["rdrand", "rdseed"])
@pytest.mark.parametrize("way", ["twice", "later"])
def test_what_does_not_trap_there_is_said(
    way: str, instruction: str, build: Build, tmp_path: Path
) -> None:
    rank = Rank.make(tmp_path)
    assert rank.record(build("made_texts.c", "-O1"), way, instruction) == 0
    assert "RDRAND, RDSEED or CPUID" in (rank.path / "cautions").read_text()


_NATIVE_CHILD = """
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>
int main(int argc, char **argv)
{
	if (argc > 1)
		return __rdtsc() ? 7 : 0;
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
	unsigned char *p = mmap(NULL, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	*p = 0xc3; /* ret */
	((void (*)(void))(uintptr_t)p)();
	if (!fork())
		execl(argv[0], argv[0], "child", NULL);
	wait(&status);
	printf("%#x", (unsigned)status);
	return 0;
}
"""


def test_nothing_traps_in_children_that_are_not_recorded(
    build_text: Callable[..., Path], tmp_path: Path
) -> None:
    """Whether rdtsc traps is handed on, also over an exec."""
    rank = Rank.make(tmp_path)
    line = rank.line(build_text("native_child", _NATIVE_CHILD), options=("--no-children",))
    done = deadlines.run(line, 60)
    assert (done.returncode, done.stdout) == (0, "0x700")
