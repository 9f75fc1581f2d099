"""Windows of 64 nonblocking MPI messages between two ranks over this machine's shared memory."""

from __future__ import annotations

from bench.figures import Section
from bench.logs import growths
from bench.setup import Bench, run
from bench.sizes import NAMES, by_size
from bench.ways import MODES, PLAIN, environment, scratch, through_mpi

TITLE = "64 nonblocking MPI messages at once, until all are complete"
_GOALS = {(65_536, PLAIN): 1.05, (1 << 20, PLAIN): 1.05}
_HOW = {"": ("one", "plain"), "both ways, ": ("both", "plain"), "gaps, ": ("one", "vector")}


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("windows.c", compiler="mpicc"))
    sizes = bench.scale.windows
    for what, how in _HOW.items():

        def once(way: str, amounts: list[str], how: tuple[str, str] = how) -> str:
            with scratch(bench) as folder:
                line = [*through_mpi(way, folder, 2), program, *how, *amounts]
                return run(line, env=environment(folder))

        by_size(bench, section, sizes, _GOALS, once, MODES, what)
    for size, turns in sizes:
        line = [program, "one", "plain", str(size), str(turns)]
        section.logs += growths(bench, NAMES[size], line, 2)
    section.notes.append(
        "with a log, received bytes are copied once more, at the call that completes the receive"
    )
