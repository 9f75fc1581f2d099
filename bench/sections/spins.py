"""Threads that wait by looking at memory: two OpenMP threads, which are recorded one at a time."""

from __future__ import annotations

import shutil

from bench.figures import Section, ratio
from bench.setup import Bench, run
from bench.ways import NATIVE, WAYS, alternate, scratch, through_rdb_exec

TITLE = "Threads that spin"
STEPS = {
    "ep": ("EP: much work, one sum", 800),
    "cg": ("CG: three regions a step", 400),
    "regions": ("regions of a microsecond", 8000),
    "ft": ("FT: barriers in one region", 400),
    "bt": ("BT: sweeps, a region each", 400),
    "lu": ("LU: a pipeline of flags", 200),
    "lock": ("spin lock", 4000),
    "trylock": ("lock that is tried again", 4000),
    "flags": ("flags passed to and fro", 400),
}
"""Enough of them that threads are at work, not about to start."""
COMPILERS = tuple(filter(shutil.which, ("gcc", "clang")))


def measure(bench: Bench, section: Section) -> None:
    for compiler in COMPILERS:
        _measure(bench, section, compiler)


def _measure(bench: Bench, section: Section, compiler: str) -> None:
    program = str(bench.program("spins.c", "-fopenmp", compiler=compiler))
    part = bench.scale.spin_part
    for kernel, (name, steps) in STEPS.items():
        times: dict[str, list[float]] = {way: [] for way in WAYS}

        def once(
            way: str,
            kernel: str = kernel,
            steps: int = steps,
            times: dict[str, list[float]] = times,
        ) -> None:
            with scratch(bench) as folder:
                said = run(
                    [*through_rdb_exec(way, folder), program, kernel, str(steps // part), "2"]
                )
            times[way].append(float(said.split()[1]))

        alternate(bench.scale.rounds, WAYS, once)
        for way in WAYS[1:]:
            section.ratios.append(ratio(f"{name} ({compiler})", way, times[NATIVE], times[way]))
