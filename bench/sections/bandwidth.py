"""Messages that keep the network busy: many under way at once, a halo exchange, MPI_Alltoall."""

from __future__ import annotations

from bench.figures import Section
from bench.logs import growths
from bench.setup import Bench, run
from bench.sizes import NAMES, by_size
from bench.ways import LEAN, MODES, ORDER, PLAIN, RECORDED, environment, scratch, through_mpi

TITLE = "MPI messages that fill the network, two ranks: one turn"
_GOALS = {"window": (1.05, 1.2), "halo": (1.05, 1.1), "alltoall": (1.05, 1.1)}


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("bandwidth.c", compiler="mpicc"))

    for kind, (plain, recorded) in _GOALS.items():
        sizes = bench.scale.bandwidth
        goals = {(size, PLAIN): plain for size, _ in sizes}
        goals |= {(size, RECORDED): recorded for size, _ in sizes}

        def once(way: str, amounts: list[str], kind: str = kind) -> str:
            with scratch(bench) as folder:
                line = [*through_mpi(way, folder, 2), program, kind, *amounts]
                return run(line, env=environment(folder))

        by_size(bench, section, sizes, goals, once, (*MODES, LEAN), f"{kind} ")
        size, turns = sizes[-1]
        what, ways = f"{kind} {NAMES[size]}", (RECORDED, ORDER, LEAN)
        section.logs += growths(bench, what, [program, kind, str(size), str(turns)], 2, ways)
    section.notes.append("window: 64 nonblocking messages from one rank to the other")
