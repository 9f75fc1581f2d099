"""`rdb find-event`: the events of all ranks that match a query.  It reads the logs alone, unless
the query asks for the program's state; then the ranks are brought to their events.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from rdb.cli.needed import need_gdb, need_log, need_ranks, say_missing, sound_ranks
from rdb.cli.output import print_json, print_table
from rdb.commands.quoting import has_predicate
from rdb.errors import DamagedRecording, Usage
from rdb.executor import Processes
from rdb.recording import Job, open_job
from rdb.recording.query.find import count_events, find_events
from rdb.recording.query.query import Query, of_events

Found = tuple[list[dict[str, Any]], int]
"""Rows, and the number of events that they stand for."""


def find_command(args: argparse.Namespace) -> int:
    """Exit code: 0 if events match, 1 if none does, 5 if none does and ranks gave no answer."""
    if has_predicate(args.query) or not of_events(args.query)[0]:
        return _of_program(args)
    if Query(args.query).uses_paths:
        raise Usage(
            "rdb find-event cannot search for paths: they are in the program's memory, not in logs",
            f"use the console: rdb attach {args.job}, then find-event {args.query}",
        )
    job = need_log(sound_ranks(_opened(args.job, args.rank)))
    say_missing(job)
    search = partial(_search, args.job, args.rank, args.query, args.way, _limit(args))
    parts = list(Processes("rank").map(search, job.ranks))
    counts = {rank: count for rank, (_, count) in zip(job.ranks, parts, strict=True)}
    code = _show(job, args, itertools.chain(*(rows for rows, _ in parts)), counts)
    if job.ranks and not any(counts.values()):
        from rdb.recording.query.names import hint_of_names  # late import: it reads symbols

        hint = hint_of_names(Query(args.query), job.rank(job.ranks[0]))
        if hint:
            print(f"rdb: {hint}", file=sys.stderr)
    return code


def _limit(args: argparse.Namespace) -> int:
    return int(args.limit) if args.way == "all" else 1


def _of_program(args: argparse.Namespace) -> int:
    job = need_log(need_ranks(args.job, args.rank))
    need_gdb()
    from rdb.console.lifetime import supervised
    from rdb.session.across import not_the_same
    from rdb.session.found_events import found_events

    async def work() -> int:
        answers = await found_events(job, args.query, job.ranks, args.way, _limit(args))
        if answers and all(one.refused for one in answers):
            raise Usage(answers[0].undefined)
        for one in answers:
            said = one.problem or one.undefined
            if said:
                print(f"rdb: rank {job.address(one.rank)}: {said}", file=sys.stderr)
        different = not_the_same({one.rank: one.bound for one in answers})
        if different:
            print(f"rdb: {different}", file=sys.stderr)
        counts = {one.rank: one.count for one in answers if not one.problem}
        code = _show(job, args, itertools.chain(*(one.rows for one in answers)), counts)
        unknown = any(one.problem for one in answers)
        return DamagedRecording.exit_code if code and unknown else code

    return supervised(work())


def _show(
    job: Job, args: argparse.Namespace, found: Iterable[dict[str, Any]], counts: dict[int, int]
) -> int:
    if args.way == "count":
        return _show_counts(job, args, counts)
    rows = sorted(found, key=lambda row: (row["at_ns"], row["rank"]))
    if args.json:
        print_json(rows)
    elif rows:
        firsts = (next(job.rank(rank).records(), None) for rank in job.ranks)
        start_ns = min(one.at_ns for one in firsts if one is not None)
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
        print(f"rdb: the query is true of no event of {job.name}: {args.query}", file=sys.stderr)
    return 0 if rows else 1


def _show_counts(job: Job, args: argparse.Namespace, counts: dict[int, int]) -> int:
    if args.json:
        print_json([{"rank": rank, "count": count} for rank, count in counts.items()])
    elif counts:
        cells = [(job.address(rank), str(count)) for rank, count in counts.items()]
        print_table(("RANK", "EVENTS"), cells, right=(0, 1))
    return 0 if any(counts.values()) else 1


def _opened(name: str, rank: str | None) -> Job:
    return open_job(name) if rank is None else open_job(name).only(rank)


def _search(name: str, only: str | None, text: str, way: str, limit: int, rank: int) -> Found:
    recording, backwards = _opened(name, only).rank(rank), way == "prev"
    if way == "count":
        return [], count_events(recording, Query(text))
    found = find_events(recording, Query(text), backwards=backwards)
    rows: list[dict[str, Any]] = [
        {
            "rank": rank,
            "events": len(one.events),
            "event": one.events[-1 if backwards else 0],
            "at_ns": one.record.at_ns,
            "text": recording.describe(one.events[-1 if backwards else 0], len(one.events)),
        }
        for one in itertools.islice(found, limit)
    ]
    return rows, sum(row["events"] for row in rows)
