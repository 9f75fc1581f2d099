"""Writing over files that are there: what was in them is kept for restarts, once, when they are
opened; what is appended, and what the process itself has written, costs nothing."""

from __future__ import annotations

import shutil
from collections import defaultdict

from bench.figures import Section, ratio
from bench.setup import Bench, BenchError, run
from bench.ways import NATIVE, RECORDED, WAYS, alternate, scratch, through_rdb_exec

TITLE = "Writing over a file that is there"
_GOALS = {("rewrite again", RECORDED): 1.5, ("append of 64 B", RECORDED): 3.0}
_PART = bytes(range(256)) * 4096


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("rewrites.c"))
    size_mb, appends = bench.scale.rewritten_mb, bench.scale.appends
    times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    kept_mb = 0

    def once(way: str) -> None:
        nonlocal kept_mb
        with scratch(bench) as folder:
            job = folder / "job"  # of what is in there nothing is kept
            job.mkdir()
            names = [str(folder / name) for name in ("large", "other", "appended")]
            for name in names[:2]:
                with open(name, "wb") as file:
                    for _ in range(size_mb):
                        file.write(_PART)
            shutil.copyfile(program, names[2])
            said = run([*through_rdb_exec(way, job), program, *names, str(appends)])
            rows = [row.split("\t") for row in said.splitlines()]
            if len(rows) != 4:
                raise BenchError(f"{section.title}, {way}: unexpected output {said!r}")
            for what, seconds in rows:
                times[what][way].append(float(seconds))
            kept = sum(path.stat().st_size for path in job.glob("rank-0/kept-*"))
            kept_mb = max(kept_mb, kept >> 20)
            if way == RECORDED and kept_mb != 2 * size_mb:
                raise BenchError(f"{section.title}: {kept_mb} MiB were kept")

    alternate(bench.scale.rounds, WAYS, once)
    for what, ways in times.items():
        for way in WAYS[1:]:
            goal = _GOALS.get((what, way))
            section.ratios.append(ratio(what, way, ways[NATIVE], ways[way], goal))
    section.notes.append(f"files of {size_mb} MiB, in pieces of 1 MiB; {kept_mb} MiB were kept")
