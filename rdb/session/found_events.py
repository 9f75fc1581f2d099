"""Events of all ranks right after which an expression of the program is true.

The GDB extension moves each rank to its events (gdb_scripts/rdb_gdb/search/predicate_events.py).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rdb.errors import RdbError
from rdb.recording import Job
from rdb.session.debugger import RankDebugger
from rdb.session.ending import side_by_side
from rdb.session.mi import json_answer
from rdb.session.ranks import Rank

_LINE_S = 5.0


@dataclass(frozen=True)
class FoundEvents:
    rank: Rank
    rows: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    undefined: str = ""
    """A text: at how many events the expression had no value, and why."""
    bound: str = ""
    """The variables of the program that the query means."""
    refused: bool = False
    """The expression has a name that the program does not have."""
    problem: str | None = None
    """Why the rank could not be searched."""


async def found_events(
    job: Job, query: str, ranks: Sequence[Rank], way: str, limit: int
) -> list[FoundEvents]:
    """Searches RANKS.  WAY: next (the first event of each rank), prev (the last one), all or
    count."""
    slots = asyncio.Semaphore(len(os.sched_getaffinity(0)))

    async def one(rank: Rank) -> FoundEvents:
        async with slots:
            try:
                return await _found(job, query, rank, way, limit)
            except RdbError as error:
                return FoundEvents(rank, problem=error.message)

    return await side_by_side(map(one, ranks))


async def _found(job: Job, query: str, rank: Rank, way: str, limit: int) -> FoundEvents:
    debugger = await RankDebugger.open(str(job.path), rank, address=job.address(rank))
    debugger.gdb.on_progress = _Said(job.address(rank)).hear
    try:
        answer = await debugger.run(f"find-event --{way} --json --limit {limit} {query}")
    finally:
        await debugger.close()
    if answer.error is not None:
        raise RdbError(answer.error)
    known = json_answer("find-event", answer.text)
    rows = []
    for row in known["rows"]:
        record = next(iter(job.rank(rank).records(row["event"], row["event"])))
        rows.append({"rank": rank, "events": 1, "at_ns": record.at_ns, **row})
    said = (known["undefined"], known["bound"], known["refused"])
    return FoundEvents(rank, rows, known["count"], *said)


class _Said:
    """Prints the progress of a search, one line every 5 s."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at = time.monotonic()

    def hear(self, text: str) -> None:
        if time.monotonic() - self._at >= _LINE_S:
            self._at = time.monotonic()
            print(f"rdb: rank {self._name}: {text}", file=sys.stderr, flush=True)
