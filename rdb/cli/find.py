"""`rdb find-event`: events of all ranks that a query is true of, from the logs alone, but for
predicates over the program's arrays, for which the ranks are brought to their events."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

from rdb.cli.debug import need_gdb, need_ranks, say_missing, sound_ranks
from rdb.cli.output import print_json, print_table
from rdb.commands.quoting import has_predicate
from rdb.errors import DamagedRecording, Usage
from rdb.recording import Job, open_job
from rdb.recording.query.find import find_events
from rdb.recording.query.query import Query


def find_command(args: argparse.Namespace) -> int:
    """0: some, 1: none, 5: none, and ranks have given no answer."""
    if has_predicate(args.query):
        return _of_program(args)
    if Query(args.query).uses_paths:
        raise Usage(
            "the logs do not hold the paths that calls are given",
            f"rdb attach {args.job}, and there: find-event {args.query}",
        )
    job = sound_ranks(_opened(args.job, args.rank))
    say_missing(job)
    search = partial(_search, args.job, args.rank, args.query, args.limit)
    workers = min(len(job.ranks), os.cpu_count() or 1)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            parts = list(pool.map(search, job.ranks))
    else:
        parts = [search(rank) for rank in job.ranks]
    return _show(job, args, itertools.chain(*parts))


def _of_program(args: argparse.Namespace) -> int:
    job = need_ranks(args.job, args.rank)
    need_gdb()
    from rdb.console.lifetime import supervised
    from rdb.session.found_events import found_events

    async def work() -> int:
        answers = await found_events(job, args.query, job.ranks, args.limit)
        for one in answers:
            said = one.problem or one.undefined
            if said:
                print(f"rdb: rank {job.address(one.rank)}: {said}", file=sys.stderr)
        code = _show(job, args, itertools.chain(*(one.rows for one in answers)))
        unknown = any(one.problem for one in answers)
        return DamagedRecording.exit_code if code and unknown else code

    return supervised(work())


def _show(job: Job, args: argparse.Namespace, found: Iterable[dict[str, Any]]) -> int:
    rows = sorted(found, key=lambda row: (row["at_ns"], row["rank"]))
    if args.json:
        print_json(rows)
    elif rows:
        start_ns = min(_start_ns(job, rank) for rank in job.ranks)
        print_table(
            ("RANK", "EVENT", "SECONDS", "WHAT"),
            [
                (
                    str(row["rank"]),
                    str(row["event"]),
                    f"{(row['at_ns'] - start_ns) / 1e9:.6f}",
                    row["text"],
                )
                for row in rows
            ],
            right=(0, 1, 2),
        )
    else:
        print(f"rdb: no event of {job.name} is like that: {args.query}", file=sys.stderr)
    return 0 if rows else 1


def _opened(name: str, rank: str | None) -> Job:
    return open_job(name) if rank is None else open_job(name).only(rank)


def _search(name: str, only: str | None, text: str, limit: int, rank: int) -> list[dict[str, Any]]:
    recording = _opened(name, only).rank(rank)
    found = itertools.islice(find_events(recording, Query(text)), limit)
    return [
        {
            "rank": rank,
            "event": one.events[0],
            "events": len(one.events),
            "at_ns": one.record.at_ns,
            "text": recording.describe(one.events[0], len(one.events)),
        }
        for one in found
    ]


def _start_ns(job: Job, rank: int) -> int:
    return next(job.rank(rank).records()).at_ns
