"""A compute loop, which never crosses the boundary, and system calls, which do nothing else."""

from __future__ import annotations

from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, run
from bench.ways import NATIVE, PLAIN, RECORDED, WAYS, alternate, scratch, through_rdb_exec

TITLE = "Computing and system calls"
_GOALS = {("compute loop", RECORDED): 1.02, ("clock_gettime", RECORDED): 3.0}
_NAMES = {"compute": "compute loop", "poll": "poll, in vain"}


def measure(bench: Bench, section: Section) -> None:
    programs = (
        (bench.program("compute.c"), str(bench.scale.compute_turns)),
        (bench.program("calls.c"), str(bench.scale.calls)),
    )
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def once(way: str) -> None:
        for program, amount in programs:
            with scratch(bench) as folder:
                said = run([*through_rdb_exec(way, folder), str(program), amount])
            for line in said.splitlines():
                name, seconds = line.split()
                times[name][way].append(float(seconds))

    alternate(bench.scale.rounds, WAYS, once)
    for name, by_way in times.items():
        what = _NAMES.get(name, name)
        for way in (PLAIN, RECORDED):
            goal = _GOALS.get((what, way))
            section.ratios.append(ratio(what, way, by_way[NATIVE], by_way[way], goal))
    section.notes.append("clock_gettime natively is no system call: the vDSO answers it")
    section.notes.append("poll, in vain: of an empty pipe, without waiting; one record in all")
