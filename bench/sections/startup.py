"""From the start of a program to its end, for programs that do next to nothing."""

from __future__ import annotations

import shutil
from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError
from bench.ways import (
    NATIVE,
    WAYS,
    alternate,
    environment,
    must_succeed,
    scratch,
    through_rdb_exec,
    timed,
)
from rdb.launch.command import own_command

TITLE = "Start-up"
_COMMAND = "rdb run"


def measure(bench: Bench, section: Section) -> None:
    for name, line in _programs(bench):
        times: dict[str, list[float]] = defaultdict(list)

        def once(way: str, line: list[str] = line, times: dict[str, list[float]] = times) -> None:
            with scratch(bench) as folder:
                before = (
                    [*own_command(), "run", "--"]
                    if way == _COMMAND
                    else through_rdb_exec(way, folder)
                )
                said = folder / "said"
                took, code = timed([*before, *line], environment(folder), said)
                must_succeed([*before, *line], code, said)
            times[way].append(took)

        alternate(bench.scale.starts, (*WAYS, _COMMAND), once)
        for way in (*WAYS[1:], _COMMAND):
            section.ratios.append(ratio(name, way, times[NATIVE], times[way]))
    section.notes.append("plain and recorded start rdb-exec itself; `rdb run` is a Python program")


def _programs(bench: Bench) -> list[tuple[str, list[str]]]:
    found = []
    for name, arguments in (("true", []), ("python3", ["-c", "pass"])):
        path = shutil.which(name, path="/usr/bin:/bin")
        if path is None:
            raise BenchError(f"there is no {name} in /usr/bin")
        found.append((name, [path, *arguments]))
    found.insert(1, ("C++ program", [str(bench.program("hello.cc"))]))
    return found
