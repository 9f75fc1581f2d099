"""The heat demo, a whole job from mpirun to its end: a compute-bound MPI program."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from bench.figures import Section, ratio
from bench.setup import ROOT, Bench, BenchError, run
from bench.ways import (
    NATIVE,
    PLAIN,
    RECORDED,
    WAYS,
    alternate,
    environment,
    must_succeed,
    scratch,
    through_mpi,
    timed,
)

TITLE = "Heat demo, from mpirun to its end"
_GOAL = 1.02  # of the steps alone: of a compute-bound program
_ATTEMPTS = 20


def measure(bench: Bench, section: Section) -> None:
    ranks = max(2, min(4, len(os.sched_getaffinity(0))))
    program = _build(bench)
    size, steps = bench.scale.heat_size, bench.scale.heat_steps
    struck = 0
    times: dict[tuple[str, int], list[float]] = defaultdict(list)

    def once(way: str) -> None:
        nonlocal struck
        for count in (steps, 1):
            for _ in range(_ATTEMPTS):
                with scratch(bench) as folder:
                    line = [*through_mpi(way, folder, ranks), program, str(size), str(count)]
                    said = folder / "said"
                    took, code = timed(line, environment(folder), said)
                    if "Assertion" not in said.read_text(errors="replace"):
                        must_succeed(line, code, said)
                        times[way, count].append(took)
                        break
                struck += 1  # a run in which its bug shows ends early
            else:
                raise BenchError(f"heat failed its assertion {_ATTEMPTS} times running")

    alternate(bench.scale.rounds, WAYS, once)

    alone = {
        way: [whole - start for whole, start in zip(times[way, steps], times[way, 1], strict=True)]
        for way in WAYS
    }
    # A difference of nearly equal times would be noise (so it is in a smoke run).
    long_enough = all(min(alone[way]) > max(times[way, 1]) for way in WAYS)
    for way in (PLAIN, RECORDED):
        for name, count in ((f"{steps} steps", steps), ("1 step", 1)):
            section.ratios.append(ratio(name, way, times[NATIVE, count], times[way, count]))
        if long_enough:
            goal = _GOAL if way == RECORDED else None
            section.ratios.append(ratio("steps alone", way, alone[NATIVE], alone[way], goal))
    section.notes.append(
        f"{ranks} ranks, {size} x {size} cells; recorded by `rdb run`, whose start-up is in it"
    )
    if long_enough:
        section.notes.append("steps alone: less the job of 1 step of the same round")
    if struck:
        section.notes.append(f"{struck} runs did not count: the demo's bug struck")


def _build(bench: Bench) -> str:
    """A copy of the demo's own build: its folder is left alone."""
    source: Path = ROOT / "demos" / "heat" / "heat.c"
    out = bench.built / "heat"
    if not out.exists():
        run(["mpicc", "-O1", "-g", "-o", str(out), str(source), "-lm"])
    return str(out)
