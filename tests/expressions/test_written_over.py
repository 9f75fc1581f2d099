"""A local that another thread writes over, between two events: bisect names that store."""

from __future__ import annotations

from pathlib import Path

from conftest import PROGRAMS, Build
from gdbdriver import Recorded

SOURCE = PROGRAMS / "written_over.c"


def test_the_store_of_another_thread(tmp_path: Path, build: Build) -> None:
    program = build("written_over.c", "-O0", "-pthread")
    lines = SOURCE.read_text().splitlines()
    store = next(n for n, line in enumerate(lines, 1) if line.endswith("/* the store */"))
    with Recorded(tmp_path, program, SOURCE).gdb() as gdb:
        said = gdb.run("bisect mine.guard == 77 || mine.guard == 0")
        assert f"Changed by written_over.c:{store}" in said, said
        assert "mine in main, written_over.c:" in said and "no value" not in said
        where = [gdb.value(name) for name in ("round", "i", "at")]
        assert where == ["4", "23", "64"]
