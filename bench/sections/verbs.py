"""RC SEND between two processes on this machine: the software HCA against plain TCP."""

from __future__ import annotations

from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError, run
from bench.ways import NATIVE, PLAIN, RECORDED, WAYS, alternate, environment, scratch, through_mpi
from rdb.launch.command import own_command

TITLE = "Verbs on the software HCA, half a round trip, against TCP"
_NAMES = {8: "8 B", 65_536: "64 KiB", 1 << 20: "1 MiB"}
_SOFT = ["--hca", "soft"]


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("verbs_pingpong.c", "-libverbs", compiler="mpicc"))
    amounts = [str(number) for size in bench.scale.pingpong for number in size]
    times: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def once(way: str) -> None:
        recorded = [] if way == RECORDED else ["--record=off"]
        with scratch(bench) as folder:
            if way == NATIVE:
                line = [*through_mpi(NATIVE, folder, 2), program, "tcp"]
            else:
                rdb = [*own_command(), "run", "-n", "2", *_SOFT, *recorded, "--"]
                line = [*rdb, program, "verbs"]
            said = run([*line, *amounts], env=environment(folder))
        rows = [row.split() for row in said.splitlines()]
        if len(rows) != len(bench.scale.pingpong):
            raise BenchError(f"verbs, {way}: unexpected output {said!r}")
        for size, seconds in rows:
            times[int(size)][way].append(float(seconds))

    alternate(bench.scale.rounds, WAYS, once)
    for size, by_way in times.items():
        for way in (PLAIN, RECORDED):
            section.ratios.append(ratio(_NAMES[size], way, by_way[NATIVE], by_way[way]))
    section.notes.append("native: a TCP connection over loopback, polled as the queue is")
