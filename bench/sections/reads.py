"""Reading a file that is in the page cache: what is read goes to the log."""

from __future__ import annotations

import os
from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError, run
from bench.ways import NATIVE, PLAIN, RECORDED, WAYS, alternate, scratch, through_rdb_exec

TITLE = "Reading a file, one read"
_GOALS = {(1 << 20, RECORDED): 1.5}
_NAMES = {4096: "4 KiB", 65_536: "64 KiB", 1 << 20: "1 MiB"}
_FILE_BYTES = 32 << 20


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("reads.c"))
    data = bench.built / "data"
    if not data.exists():
        data.write_bytes(os.urandom(_FILE_BYTES))
    amounts = [str(number) for size in bench.scale.reads for number in size]
    times: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def once(way: str) -> None:
        with scratch(bench) as folder:
            said = run([*through_rdb_exec(way, folder), program, str(data), *amounts])
        rows = [row.split() for row in said.splitlines()]
        if len(rows) != len(bench.scale.reads):
            raise BenchError(f"reads, {way}: unexpected output {said!r}")
        for size, seconds in rows:
            times[int(size)][way].append(float(seconds))

    alternate(bench.scale.rounds, WAYS, once)
    for size, by_way in times.items():
        for way in (PLAIN, RECORDED):
            goal = _GOALS.get((size, way))
            section.ratios.append(ratio(_NAMES[size], way, by_way[NATIVE], by_way[way], goal))
    section.notes.append(f"a file of {_FILE_BYTES >> 20} MiB in the page cache, over and over")
