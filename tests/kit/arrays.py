"""Predicates over arrays, asked for in a real GDB."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from gdbdriver import Gdb, Recorded


def number(gdb: Gdb, expression: str) -> float:
    return float(json.loads(gdb.run(f"rdb-number {expression}"))[1])


def check(gdb: Gdb, cases: dict[str, float]) -> None:
    assert {expression: number(gdb, expression) for expression in cases} == cases


def decided(gdb: Gdb, expression: str) -> str:
    gdb.run("python from rdb_gdb.values import predicates")
    evaluated = f"python predicates.value({expression!r}); print(predicates.decided())"
    return gdb.run(evaluated).strip()


@contextmanager
def stopped(folder: Path, source: Path, *compiler: str, function: str = "look") -> Iterator[Gdb]:
    """The program in the function, when it has been recorded."""
    if shutil.which(compiler[0]) is None:
        pytest.skip(f"no {compiler[0]}")
    program = folder / "program"
    command = [*compiler, "-g", "-O0", "-o", str(program), str(source)]
    subprocess.run(command, check=True, cwd=folder)
    with Recorded(folder, program, source).gdb() as gdb:
        gdb.run(f"break {function}")
        gdb.run("continue")
        gdb.run("delete")
        yield gdb


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    program = str(build("mpi/cells.c", "-O0"))
    done = run_rdb(folder / "home", folder, "run", "--name", "cells", "-n", "2", "--", program)
    assert done.returncode == 0, done.stderr
    return folder / "home"
