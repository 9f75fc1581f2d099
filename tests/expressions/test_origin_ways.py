"""origin: through the x87 stack, instructions that copy, thread-local variables and calls to where
a value was made, in generated programs; and never past a computation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from copied import at_random, each_instruction, each_way
from gdbdriver import in_console

EVERYTHING = "RDB_TEST_ORACLES" in os.environ
ALL = [
    (f"{level}{x87}", kind)
    for kind in ("each", "random")
    for level in ("-O0", "-O1", "-O2")
    for x87 in ("", " -mfpmath=387")
]
SOME = [("-O0", "each"), ("-O2 -mfpmath=387", "each"), ("-O1", "random")]
_LIBRARY = """
static __thread volatile int local;
volatile int got;
void put(int v) { local = v; }
void take(void) { got = local; }
"""
_MAIN = """
#include <unistd.h>
extern volatile int got;
void put(int);
void take(void);
static volatile int seed = 3;
static __attribute__((noinline)) int makes(void) { return seed * 7; }
int main(void) { put(makes()); take(); getppid(); return 0; }
"""
# A call with a prefix, as linkers make it: its last bytes are a call, too.
_PREFIXED = """
#include <unistd.h>
#define CHANGED "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc"
volatile int got;
static volatile int seed = 3;
__attribute__((noinline)) void nothing(void) { seed++; }
static __attribute__((noinline)) int makes(void) { return seed * 7; }
static __attribute__((noinline)) void keeps(void)
{
	int v = makes();
	asm volatile(".byte 0x67; call nothing" : : : CHANGED);
	got = v;
}
int main(void) { keeps(); getppid(); return 0; }
"""


def lost(tmp_path: Path, program: Path, made: dict[str, str]) -> list[str]:
    """What origin says of the variables whose maker it does not name."""
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    said = in_console(tmp_path, "job", [one for name in made for one in (f"origin {name}", "undo")])
    wrong = []
    for number, (name, maker) in enumerate(made.items()):
        rows = [row for row in said[2 * number].splitlines() if row.startswith("0  ")]
        last = rows[-1] if rows else ""
        if not (re.search(rf" {maker} \(\) at ", last) and last.endswith("  computed")):
            wrong.append(f"{name}, which {maker} made: {said[2 * number]}")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "kind"), ALL if EVERYTHING else SOME)
def test_where_it_was_made(tmp_path: Path, build: Build, flags: str, kind: str) -> None:
    """With RDB_TEST_ORACLES (`make test-oracles`) both programs with all flags."""
    program = each_way() if kind == "each" else at_random(1, 20)
    source = tmp_path / "copied.c"
    source.write_text(program.source)
    assert not lost(tmp_path, build(source, *flags.split(), "-w"), program.made)


@pytest.mark.slow
def test_each_instruction_that_copies(tmp_path: Path, build: Build) -> None:
    """All are carried out; without RDB_TEST_ORACLES every third variable is asked for."""
    program = each_instruction()
    source = tmp_path / "copied.c"
    source.write_text(program.source)
    made = list(program.made.items())[:: 1 if EVERYTHING else 3]
    assert not lost(tmp_path, build(source, "-O1", "-w"), dict(made))


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_thread_local_of_a_library(
    tmp_path: Path, build_text: Callable[..., Path], level: str
) -> None:
    library = build_text("ways", _LIBRARY, level, "-fPIC", "-shared")
    program = build_text("main", _MAIN, level, str(library), f"-Wl,-rpath,{tmp_path}")
    assert not lost(tmp_path, program, {"got": "makes"})


@pytest.mark.parametrize("flags", [(), ("-g0",)], ids=["lines", "symbols"])
def test_kept_over_a_call_with_a_prefix(
    tmp_path: Path, build_text: Callable[..., Path], flags: tuple[str, ...]
) -> None:
    program = build_text("prefixed", _PREFIXED, "-O1", *flags)
    goal = "got" if not flags else "{int} &got"
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    (said,) = in_console(tmp_path, "job", [f"origin {goal}"])
    assert "  returned by makes\n" in said and said.splitlines()[-1].endswith("  computed"), said
