"""MPI_Allreduce of two ranks on this machine: one call."""

from __future__ import annotations

from bench.figures import Section
from bench.logs import growths
from bench.setup import Bench, run
from bench.sizes import NAMES, by_size
from bench.ways import MODES, environment, scratch, through_mpi

TITLE = "MPI_Allreduce, two ranks"


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("allreduce.c", compiler="mpicc"))

    def once(way: str, amounts: list[str]) -> str:
        with scratch(bench) as folder:
            line = [*through_mpi(way, folder, 2), program, *amounts]
            return run(line, env=environment(folder))

    by_size(bench, section, bench.scale.allreduce, {}, once, MODES)
    for size, turns in bench.scale.allreduce:
        section.logs += growths(bench, NAMES[size], [program, str(size), str(turns)], 2)
