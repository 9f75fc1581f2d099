"""Which object of rdb-exec uses a symbol of a folder above its own (interposer/LAYERS).

Run: .venv/bin/python3 -m tools.layers [BUILD]

Exit code 1: there is one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("rdb-exec.p", "librdbfast.a.p", "librdbarrays.a.p")


class Use(NamedTuple):
    """An object takes a symbol from another one; both are named by their sources."""

    user: str
    owner: str
    symbol: str


def uses(build: Path) -> list[Use]:
    """All uses among the objects of rdb-exec."""
    sources = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = build / entry["output"]
        if path.parent.name in TARGETS:
            source = (Path(entry["directory"]) / entry["file"]).resolve()
            sources[str(path)] = str(source).split("/interposer/", 1)[1]
    listed = subprocess.run(
        ["nm", "-A", "-P", *sources], capture_output=True, text=True, check=True
    ).stdout
    home, needed = {}, set()
    for line in listed.splitlines():
        path, rest = line.split(": ", 1)
        symbol, kind = rest.split()[:2]
        if kind == "U":
            needed.add((sources[path], symbol))
        elif kind in "TDBRCVWGS":
            home[symbol] = sources[path]
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


def order() -> list[str]:
    """The folders, from the bottom up."""
    lines = (ROOT / "interposer/LAYERS").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def upward(found: list[Use], folders: list[str]) -> list[str]:
    """What is against their order."""
    at = {folder: number for number, folder in enumerate(folders)}
    return [
        f"{use.user} uses {use.symbol} of {use.owner}, which is above it"
        for use in sorted(found)
        if at[use.owner.split("/")[0]] > at[use.user.split("/")[0]]
    ]


def main(words: list[str]) -> int:
    """Says what is wrong."""
    found = uses(Path(words[0]).resolve() if words else ROOT / "build")
    said = upward(found, order())
    objects = {use.user for use in found} | {use.owner for use in found}
    print(*said, sep="\n", end="\n" if said else "")
    print(
        f"{len(said)} upward uses of symbols; the largest cycle has {len(largest_cycle(found))} "
        f"of {len(objects)} objects"
    )
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
