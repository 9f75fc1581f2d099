"""Instructions of inline functions of system headers: reports name the program's own line."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import Recorded

NAME = "inlined_headers.cc"
LINES = (PROGRAMS / NAME).read_text().splitlines()
Made = Callable[[str], Recorded]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Made:
    @cache
    def made(level: str) -> Recorded:
        program = build(NAME, level, compiler="g++")
        return Recorded(tmp_path_factory.mktemp("it"), program, PROGRAMS / NAME)

    return made


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
def test_the_statement_is_the_programs(recorded: Made, level: str) -> None:
    with recorded(level).gdb() as gdb:
        answer = json.loads(gdb.run("bisect allfinite(states::chain.m_pressure) --json"))
        assert answer["before_true"] and answer["after_false"], answer
        line = 1 + next(i for i, text in enumerate(LINES) if "// not a number" in text)
        name = answer["file"].rsplit("/", 1)[-1]
        assert (name, answer["line"], answer["function"]) == (NAME, line, "states"), answer
        assert answer["written_by"] == f"{NAME}:{line}", answer
        # What shows each change of a value names the same line.
        array = next((at for at, length in answer["operands"] if length == 80), None)
        assert array is not None, answer
        changes = gdb.run(f"changes *(double *){array + 3 * 8}")
        assert f"{NAME}:{line}" in changes and "stl_vector" not in changes, changes


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_a_container_grows(tmp_path: Path, build: Build, level: str) -> None:
    """GDB gives an inline function the file of its call: it is the header's all the same."""
    source = PROGRAMS / "inlined_growth.cc"
    with Recorded(tmp_path, build(source.name, level, compiler="g++"), source).gdb() as gdb:
        answer = json.loads(gdb.run("bisect domain.atoms_.size() < 6 --json"))
        text = source.read_text().splitlines()
        line = 1 + next(i for i, one in enumerate(text) if "// grows" in one)
        assert answer["written_by"].startswith(f"{source.name}:{line}, inside std::"), answer
