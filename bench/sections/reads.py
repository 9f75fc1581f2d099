"""Reading a file that is in the page cache: what is read goes to the log."""

from __future__ import annotations

import os

from bench.figures import Section
from bench.setup import Bench, run
from bench.sizes import by_size
from bench.ways import RECORDED, scratch, through_rdb_exec

TITLE = "Reading a file, one read"
_GOALS = {(1 << 20, RECORDED): 1.5}
_FILE_BYTES = 32 << 20


def measure(bench: Bench, section: Section) -> None:
    program = str(bench.program("reads.c"))
    data = bench.built / "data"
    if not data.exists():
        data.write_bytes(os.urandom(_FILE_BYTES))

    def once(way: str, amounts: list[str]) -> str:
        with scratch(bench) as folder:
            return run([*through_rdb_exec(way, folder), program, str(data), *amounts])

    by_size(bench, section, bench.scale.reads, _GOALS, once)
    section.notes.append(f"a file of {_FILE_BYTES >> 20} MiB in the page cache, over and over")
