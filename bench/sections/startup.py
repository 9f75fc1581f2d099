"""From the start of a program to its end, for programs that do next to nothing.

Alone, and two ranks that only call MPI_Init and MPI_Finalize.
"""

from __future__ import annotations

import shutil
import sys
from collections import defaultdict
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError
from bench.ways import (
    NATIVE,
    RECORDED,
    WAYS,
    alternate,
    environment,
    must_succeed,
    scratch,
    through_mpi,
    through_rdb_exec,
    timed,
)
from rdb.launch.command import own_command

TITLE = "Start-up"
_COMMAND = "rdb run"
_RANKS = 2
_GOALS = {"C, MPI_Init": 2.0, "Python, MPI_Init": 1.3}


def measure(bench: Bench, section: Section) -> None:
    def before(way: str, folder: Path) -> list[str]:
        return [*own_command(), "run", "--"] if way == _COMMAND else through_rdb_exec(way, folder)

    def before_ranks(way: str, folder: Path) -> list[str]:
        return through_mpi(RECORDED if way == _COMMAND else way, folder, _RANKS)

    for name, line in _programs(bench):
        _compare(bench, section, name, line, (*WAYS, _COMMAND), before)
    for name, line in _ranks(bench):
        _compare(bench, section, name, line, (NATIVE, _COMMAND), before_ranks)
    section.notes.append("plain and recorded start rdb-exec itself; `rdb run` is a Python program")
    section.notes.append(f"MPI_Init: {_RANKS} ranks, with the launcher")


def _compare(
    bench: Bench,
    section: Section,
    name: str,
    line: list[str],
    ways: tuple[str, ...],
    before: Callable[[str, Path], list[str]],
) -> None:
    times: dict[str, list[float]] = defaultdict(list)

    def once(way: str) -> None:
        with scratch(bench) as folder:
            whole, said = [*before(way, folder), *line], folder / "said"
            took, code = timed(whole, environment(folder), said)
            must_succeed(whole, code, said)
        times[way].append(took)

    alternate(bench.scale.starts, ways, once)
    for way in ways[1:]:
        goal = _GOALS.get(name)
        section.ratios.append(ratio(name, way, times[NATIVE], times[way], goal))


def _ranks(bench: Bench) -> list[tuple[str, list[str]]]:
    found = [("C, MPI_Init", [str(bench.program("init.c", compiler="mpicc"))])]
    if find_spec("mpi4py") is not None:
        source = str(bench.source("init.py"))
        found.append(("Python, MPI_Init", [sys.executable, source]))
    return found


def _programs(bench: Bench) -> list[tuple[str, list[str]]]:
    found = []
    for name, arguments in (("true", []), ("python3", ["-c", "pass"])):
        path = shutil.which(name, path="/usr/bin:/bin")
        if path is None:
            raise BenchError(f"there is no {name} in /usr/bin")
        found.append((name, [path, *arguments]))
    found.insert(1, ("C++ program", [str(bench.program("hello.cc"))]))
    return found
