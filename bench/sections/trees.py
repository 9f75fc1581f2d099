"""Programs that are little but system calls, from start to end, on a tree of small files."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError, run
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

TITLE = "Programs that make many system calls"
_FILES_A_FOLDER = 50
_GIT = (
    "-c",
    "core.preloadIndex=false",
    "-c",
    "user.name=bench",
    "-c",
    "user.email=bench@localhost",
    "-c",
    "gc.auto=0",
)


def measure(bench: Bench, section: Section) -> None:
    tree = _tree(bench)
    programs = {"find": [_program("find"), str(tree), "-type", "f", "-size", "+0"]}
    if shutil.which("git"):
        _repository(tree)
        programs["git status"] = [
            _program("git"),
            *_GIT,
            *("-C", str(tree), "--no-optional-locks", "status", "--porcelain"),
        ]
    else:
        section.notes.append("git is not installed")
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def once(way: str) -> None:
        for name, line in programs.items():
            with scratch(bench) as folder:
                said = folder / "said"
                whole = [*through_rdb_exec(way, folder), *line]
                took, code = timed(whole, environment(folder), said)
                must_succeed(whole, code, said)
            times[name][way].append(took)

    alternate(bench.scale.rounds, WAYS, once)
    for name, by_way in times.items():
        for way in WAYS[1:]:
            section.ratios.append(ratio(name, way, by_way[NATIVE], by_way[way]))
    section.notes.append(f"{bench.scale.files} small files, {_FILES_A_FOLDER} in a folder")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise BenchError(f"{name} is not in PATH")
    return path


def _tree(bench: Bench) -> Path:
    tree = bench.built / "tree"
    for number in range(bench.scale.files):
        folder = tree / f"folder-{number // _FILES_A_FOLDER:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file-{number:05}").write_text(f"{number}\n")
    return tree


def _repository(tree: Path) -> None:
    for step in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a tree"]):
        run(["git", *_GIT, "-C", str(tree), *step])
