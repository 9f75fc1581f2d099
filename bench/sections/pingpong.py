"""MPI ping-pong between two ranks over this machine's shared memory: half a round trip."""

from __future__ import annotations

from collections.abc import Mapping

from bench.figures import Section
from bench.logs import growths
from bench.setup import Bench, run
from bench.sizes import NAMES, by_size
from bench.ways import MODES, PLAIN, RECORDED, environment, scratch, through_mpi

TITLE = "MPI ping-pong over shared memory, half a round trip"
_GOALS = {(8, PLAIN): 1.15, (8, RECORDED): 1.15, (1 << 20, RECORDED): 1.3}


def measure(bench: Bench, section: Section) -> None:
    program = half_round_trips(bench, section, {})
    for size, turns in bench.scale.pingpong:
        section.logs += growths(bench, NAMES[size], [program, str(size), str(turns)], 2)
    section.notes.append("recorded, every received byte is written to the log; order: its hash is")


def half_round_trips(bench: Bench, section: Section, network: Mapping[str, str]) -> str:
    """The ratios; `network`: Open MPI's parameters that choose it.  The path of the program."""
    program = str(bench.program("pingpong.c", compiler="mpicc"))

    def once(way: str, amounts: list[str]) -> str:
        with scratch(bench) as folder:
            line = [*through_mpi(way, folder, 2), program, *amounts]
            return run(line, env={**environment(folder), **network})

    by_size(bench, section, bench.scale.pingpong, _GOALS, once, MODES)
    return program
