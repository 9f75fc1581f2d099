"""Programs that do what a man page describes: as natively, and each process replayed alone."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import deadlines
import pytest
from corpus.entry import Entry
from corpus.runner import Ran, native, record, verify_all

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = sorted(PROGRAMS.glob("*/*.c"))
SKIPPED = 77  # observe.h
ABOUT = re.compile(r"/\* [^:]*\b[a-z_0-9]+\([1-8]p?\)[^:]*: .")
COMPILE = ["gcc", "-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]


def name(source: Path) -> str:
    return str(source.relative_to(PROGRAMS).with_suffix(""))


def seen(ran: Ran) -> tuple[int, str, str]:
    return ran.code, ran.out, ran.err


@pytest.mark.parametrize("source", SOURCES, ids=name)
def test_as_the_kernel_does(source: Path, tmp_path: Path) -> None:
    program, where = tmp_path / source.stem, tmp_path / "run"
    done = deadlines.run([*COMPILE, "-o", program, source], deadlines.DEADLINE_S)
    assert done.returncode == 0, done.stderr
    entry = Entry(program.name, "gcc", (str(program),), hash_every=1)
    # The same path each time: a program may print where it is.
    runs = []
    for number in range(2):
        runs.append(seen(native(entry, where)))
        where.rename(tmp_path / f"native-{number}")
    if runs[0][0] == SKIPPED:
        pytest.skip(runs[0][2])
    assert runs[0] == runs[1], "the program does not do the same twice, without rdb"
    assert runs[0][0] != 99, runs[0]
    recorded = seen(record(entry, where, tmp_path / "recording"))
    differ = difflib.unified_diff(runs[0][1].splitlines(), recorded[1].splitlines(), lineterm="")
    assert recorded == runs[0], "\n".join(differ)
    processes = verify_all(tmp_path / "recording")
    assert processes and all(process.equal for process in processes), processes


def test_each_program_says_what_it_is_about() -> None:
    """The first line names the man page, and the statement that the program tries."""
    for source in SOURCES:
        first = source.read_text().splitlines()[0]
        assert ABOUT.match(first), (source, first)
