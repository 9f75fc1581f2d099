"""Who in the C core uses a symbol, or includes a file, of a folder above its own.

The list of a library's folders is its LAYERS file.  What lies in arch/MACHINE/FOLDER is as
high as FOLDER, and a header in arch/ as high as what it includes.  A line `cycle N` there: no more
than N of its objects may each reach each other one.  If there are lines `heap PATH`, only what lies
below those paths may use the heap.

Run: .venv/bin/python3 -m tools.layers [BUILD]

Exit code 1: somebody does, a cycle is larger, the heap is used elsewhere, a `heap` is not needed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

INTERPOSER = Path(__file__).resolve().parent.parent / "interposer"
_SOURCES = {".c", ".h", ".S", ".inc"}
#: What allocates, or frees: the functions of libc that the C core uses.
_HEAP = {
    *("malloc", "calloc", "realloc", "reallocarray", "aligned_alloc", "free", "strdup", "strndup"),
    *("asprintf", "vasprintf", "getline", "fopen", "fdopen", "opendir", "qsort", "dlopen"),
    *("fprintf", "printf", "vfprintf", "puts", "putchar", "fputs", "fputc", "fwrite"),
}
#: Before the folder's name, of what is one machine's.
_MACHINE = re.compile(r"^arch/\w+/")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


class Library(NamedTuple):
    """What is linked together."""

    folder: str  # below interposer/: where its LAYERS are
    targets: tuple[str, ...]  # directories of its objects
    included: str  # how its files include each other: this, and the path below the folder


LIBRARIES = (
    Library("", ("rdb-exec.p", "librdbfast.a.p", "librdbarrays.a.p"), ""),
    Library("mpi/lower", ("openmpi/lower.so.p",), "lower/"),
    Library("mpi/lower", ("mpich/lower.so.p",), "lower/"),
    Library("verbs/lower", ("verbs.so.p",), "lower/"),
    Library("verbs/upper", ("libibverbs.so.1.p",), "upper/"),
    Library("verbs/soft", ("librdbhca.a.p",), "soft/"),
    Library("verbs/real", ("verbs-real.so.p",), "real/"),
    Library("verbs/cm", ("librdmacm.so.1.p",), "cm/"),
)


class Layers(NamedTuple):
    folders: list[str]  # or files, from the bottom up
    cycle: int
    heap: list[str]  # who may use it; empty: all


class Use(NamedTuple):
    """An object takes a symbol from another one; both are named by their sources."""

    user: str
    owner: str
    symbol: str


@cache
def _symbols(build: Path, library: Library) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """Who has each symbol, and who needs which."""
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = build / entry["output"]
        if any(f"/{path.parent}".endswith(f"/{target}") for target in library.targets):
            source = (Path(entry["directory"]) / entry["file"]).resolve()
            below = str(source).split(str(Path("/interposer") / library.folder) + "/", 1)
            sources[str(path)] = below[1] if len(below) > 1 else f"generated/{source.name}"
    if not sources:
        return {}, set()  # it is not built here
    listed = subprocess.run(
        ["nm", "-A", "-P", *sources], capture_output=True, text=True, check=True
    ).stdout
    home: dict[str, str] = {}
    needed: set[tuple[str, str]] = set()
    for line in listed.splitlines():
        path, rest = line.split(": ", 1)
        symbol, kind = rest.split()[:2]
        if kind == "U":
            needed.add((sources[path], symbol))
        elif kind in "TDBRCVWGS":
            home[symbol] = sources[path]
    return home, needed


def uses(build: Path, library: Library = LIBRARIES[0]) -> list[Use]:
    """All uses among the objects of a library."""
    home, needed = _symbols(build, library)
    return [Use(user, home[symbol], symbol) for user, symbol in sorted(needed) if symbol in home]


def largest_cycle(found: list[Use]) -> set[str]:
    """The largest set of objects each of which reaches each other one."""
    after, before = defaultdict(set), defaultdict(set)
    for use in found:
        after[use.user].add(use.owner)
        before[use.owner].add(use.user)

    def reached(start: str, ways: dict[str, set[str]]) -> set[str]:
        seen, todo = {start}, [start]
        while todo:
            more = ways.get(todo.pop(), set()) - seen
            seen |= more
            todo += more
        return seen

    best: set[str] = set()
    left = {use.user for use in found}
    while left:
        one = next(iter(left))
        part = reached(one, after) & reached(one, before)
        left -= part
        best = max(best, part, key=len)
    return best


def layers(library: Library) -> Layers:
    """As its file has them."""
    lines = (INTERPOSER / library.folder / "LAYERS").read_text().splitlines()
    words = [line for line in lines if line and not line.startswith("#")]
    settings = [line.split() for line in words if " " in line]
    return Layers(
        [line for line in words if " " not in line],
        next((int(value) for name, value in settings if name == "cycle"), 1),
        [value for name, value in settings if name == "heap"],
    )


def _level(path: str, folders: list[str]) -> int:
    """That of the innermost one that has it; of what none has: above all."""
    path = _MACHINE.sub("", path)
    having = [one for one in folders if path == one or path.startswith(one + "/")]
    return folders.index(max(having, key=len)) if having else len(folders)


def heap(build: Path, library: Library, allowed: list[str]) -> list[str]:
    """Who uses the heap and is not allowed to; who is allowed to in vain."""
    users = {(user, symbol) for user, symbol in _symbols(build, library)[1] if symbol in _HEAP}
    said = [
        f"{user} uses {symbol}, and has no line `heap` in LAYERS"
        for user, symbol in sorted(users)
        if _level(user, allowed) == len(allowed)
    ]
    needed = {_level(user, allowed) for user, _ in users}
    return said + [f"{one} needs no heap" for at, one in enumerate(allowed) if at not in needed]


def upward(found: list[Use], folders: list[str]) -> list[str]:
    """What is against their order."""
    return [
        f"{use.user} uses {use.symbol} of {use.owner}, which is above it"
        for use in sorted(found)
        if _level(use.owner, folders) > _level(use.user, folders)
    ]


def includes(root: Path, folders: list[str], prefix: str = "") -> list[str]:
    """The files that include one of a folder above their own."""
    said = []
    for path in sorted(one for one in root.rglob("*.*") if one.suffix in _SOURCES):
        name = str(path.relative_to(root))
        level = _level(name, folders)
        for other in _INCLUDE.findall(path.read_text()):
            above = _level(other.removeprefix(prefix), folders)
            if other.startswith("arch/") and above == len(folders) and (root / other).exists():
                behind = _INCLUDE.findall((root / other).read_text())
                above = max((_level(one, folders) for one in behind), default=above)
            if other.startswith(prefix) and level < above < len(folders):
                said.append(f"{name} includes {other}, which is above it")
    return said


def wrong(build: Path, library: Library) -> list[str]:
    """What is against a library's LAYERS."""
    found, its = uses(build, library), layers(library)
    said = upward(found, its.folders)
    said += includes(INTERPOSER / library.folder, its.folders, library.included)
    cycle = largest_cycle(found)
    if its.heap:
        said += heap(build, library, its.heap)
    if len(cycle) > its.cycle:
        said.append(f"a cycle of {len(cycle)} objects, not {its.cycle}: {' '.join(sorted(cycle))}")
    return [f"{library.folder}/{one}" if library.folder else one for one in said]


def main(words: list[str]) -> int:
    """Says what is wrong."""
    build = Path(words[0]).resolve() if words else INTERPOSER.parent / "build"
    number = 0
    for library in LIBRARIES:
        found, said = uses(build, library), wrong(build, library)
        number += len(said)
        objects = {use.user for use in found} | {use.owner for use in found}
        print(*said, sep="\n", end="\n" if said else "")
        print(
            f"{library.folder or 'rdb-exec'}: {len(said)} wrong; the largest cycle has "
            f"{len(largest_cycle(found))} of {len(objects)} objects"
        )
    return 1 if number else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
