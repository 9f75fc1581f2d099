"""Threads that wait by looking at memory: two OpenMP threads, which are recorded one at a time."""

from __future__ import annotations

from bench.figures import Section, ratio
from bench.setup import Bench, run
from bench.ways import NATIVE, WAYS, alternate, scratch, through_rdb_exec

TITLE = "Threads that spin"
_STEPS = {
    "ep": ("EP: much work, one sum", 200),
    "cg": ("CG: two short regions a step", 100),
    "ft": ("FT: barriers in one region", 50),
    "bt": ("BT: sweeps, a region each", 50),
    "lu": ("LU: a pipeline of flags", 50),
    "lock": ("spin lock", 500),
    "trylock": ("lock that is tried again", 500),
    "flags": ("flags passed to and fro", 50),
}
NAMES = {name for name, _ in _STEPS.values()}


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("spins.c", "-fopenmp", "-lm"))
    for kernel, (name, steps) in _STEPS.items():
        times: dict[str, list[float]] = {way: [] for way in WAYS}

        def once(
            way: str,
            kernel: str = kernel,
            steps: int = steps,
            times: dict[str, list[float]] = times,
        ) -> None:
            with scratch(bench) as folder:
                said = run([*through_rdb_exec(way, folder), program, kernel, str(steps), "2"])
            times[way].append(float(said.split()[1]))

        alternate(bench.scale.rounds, WAYS, once)
        for way in WAYS[1:]:
            section.ratios.append(ratio(name, way, times[NATIVE], times[way]))
