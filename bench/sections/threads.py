"""Threads: recorded they run one at a time; measured is how they wait for one another."""

from __future__ import annotations

from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, run
from bench.ways import NATIVE, WAYS, alternate, scratch, through_rdb_exec

TITLE = "Threads"
_NAMES = {"hand-over": "hand-over between two", "mutex": "lock that four want"}


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("threads.c", "-pthread"))
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def once(way: str) -> None:
        with scratch(bench) as folder:
            said = run([*through_rdb_exec(way, folder), program, str(bench.scale.thread_turns)])
        for line in said.splitlines():
            name, seconds = line.split()
            times[name][way].append(float(seconds))

    alternate(bench.scale.rounds, WAYS, once)
    for name, by_way in times.items():
        for way in WAYS[1:]:
            section.ratios.append(ratio(_NAMES[name], way, by_way[NATIVE], by_way[way]))
