"""MPI ping-pong between two ranks on this machine: half a round trip."""

from __future__ import annotations

from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError, run
from bench.ways import (
    NATIVE,
    PLAIN,
    RECORDED,
    WAYS,
    alternate,
    environment,
    scratch,
    through_mpi,
)

TITLE = "MPI ping-pong, half a round trip"
_GOALS = {(8, PLAIN): 1.15}
_NAMES = {8: "8 B", 65_536: "64 KiB", 1 << 20: "1 MiB"}


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("pingpong.c", compiler="mpicc"))
    amounts = [str(number) for size in bench.scale.pingpong for number in size]
    times: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def once(way: str) -> None:
        with scratch(bench) as folder:
            line = [*through_mpi(way, folder, 2), program, *amounts]
            said = run(line, env=environment(folder))
        rows = [row.split() for row in said.splitlines()]
        if len(rows) != len(bench.scale.pingpong):
            raise BenchError(f"ping-pong, {way}: unexpected output {said!r}")
        for size, seconds in rows:
            times[int(size)][way].append(float(seconds))

    alternate(bench.scale.rounds, WAYS, once)
    for size, by_way in times.items():
        for way in (PLAIN, RECORDED):
            goal = _GOALS.get((size, way))
            section.ratios.append(ratio(_NAMES[size], way, by_way[NATIVE], by_way[way], goal))
    section.notes.append("recorded, every received byte is written to the log")
