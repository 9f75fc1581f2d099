"""`rdb find-event`: the events of all ranks that match a query.  It reads the logs alone, unless
the query asks for the program's state; then the ranks are brought to their events.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rdb.cli.needed import damage, need_gdb, need_log, need_ranks, sound
from rdb.cli.on import workers
from rdb.cli.output import print_json, print_table
from rdb.commands.quoting import has_predicate
from rdb.errors import DamagedRecording, Usage
from rdb.recording import Job, RankRecording, open_job
from rdb.recording.query.find import count_events, find_events
from rdb.recording.query.query import Query, of_events

if TYPE_CHECKING:
    from rdb.session.found_events import FoundEvents


class _Found(NamedTuple):
    """Of one rank."""

    address: str
    """What `rdb info` calls the process that stands for the rank."""
    begins_ns: int | None
    rows: list[dict[str, Any]]
    events: int
    """The number of events that they stand for."""


def find_command(args: argparse.Namespace) -> int:
    """Exit code: 0 if events match, 1 if none does, 5 if none does and ranks gave no answer."""
    if has_predicate(args.query) or not of_events(args.query)[0]:
        return _of_program(args)
    if Query(args.query).uses_paths:
        raise Usage(
            "rdb find-event cannot search for paths: they are in the program's memory, not in logs",
            f"use the console: rdb attach {args.job}, then find-event {args.query}",
        )
    job = need_log(open_job(args.job))
    with workers(job, args.rank, args.on, "rank") as (pool, ranks):
        search = partial(_search, job.path, args.rank, args.query, args.way, _limit(args))
        found = sound(ranks, pool.map(search, ranks))
        code = _show(job.name, args, found)
        if found and not any(one.events for one in found.values()):
            hint = partial(_hint, job.path, args.rank, args.query)
            for text in filter(None, pool.map(hint, list(found)[:1])):
                print(f"rdb: {text}", file=sys.stderr)
    return code


def _limit(args: argparse.Namespace) -> int:
    return int(args.limit) if args.way == "all" else 1


def _of_program(args: argparse.Namespace) -> int:
    if args.on is not None:
        job = need_log(open_job(args.job))
        with workers(job, args.rank, args.on, "rank") as (pool, ranks):
            search = partial(_bring, job.path, args.rank, args.query, args.way, _limit(args))
            answers = sound(ranks, pool.map(search, ranks))
        return _show_of_program(job.name, args, list(answers.values()))
    job = need_log(need_ranks(args.job, args.rank))
    need_gdb()
    from rdb.console.lifetime import supervised
    from rdb.session.found_events import found_events

    async def work() -> int:
        answers = await found_events(job, args.query, job.ranks, args.way, _limit(args))
        return _show_of_program(job.path.name, args, [(_of(job, one), one) for one in answers])

    return supervised(work())


def _bring(
    path: Path, only: str | None, query: str, way: str, limit: int, rank: int
) -> tuple[_Found, FoundEvents] | DamagedRecording:
    """Searches one rank, which is brought to its events."""
    import asyncio  # late imports: most queries need the logs alone

    from rdb.session.found_events import found_events

    need_gdb()
    job = _opened(path, only)
    damaged = damage(job.rank(rank))
    if damaged is not None:
        return damaged
    [found] = asyncio.run(found_events(job, query, [rank], way, limit))
    return _of(job, found), found


def _of(job: Job, one: FoundEvents) -> _Found:
    return _Found(job.address(one.rank), _begins_ns(job.rank(one.rank)), one.rows, one.count)


def _show_of_program(
    job: str, args: argparse.Namespace, answers: Sequence[tuple[_Found, FoundEvents]]
) -> int:
    from rdb.session.across import not_the_same

    if answers and all(one.refused for _, one in answers):
        raise Usage(answers[0][1].undefined)
    for found, one in answers:
        said = one.problem or one.undefined
        if said:
            print(f"rdb: rank {found.address}: {said}", file=sys.stderr)
    different = not_the_same({one.rank: one.bound for _, one in answers})
    if different:
        print(f"rdb: {different}", file=sys.stderr)
    code = _show(job, args, {one.rank: found for found, one in answers if not one.problem})
    unknown = any(one.problem for _, one in answers)
    return DamagedRecording.exit_code if code and unknown else code


def _show(job: str, args: argparse.Namespace, found: Mapping[int, _Found]) -> int:
    if args.way == "count":
        return _show_counts(args, found)
    rows = [row for one in found.values() for row in one.rows]
    rows.sort(key=lambda row: (row["at_ns"], row["rank"]))
    if args.json:
        print_json(rows)
    elif rows:
        begins = [one.begins_ns for one in found.values() if one.begins_ns is not None]
        start_ns = min(begins)
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
        shown = [one.address for rank, one in found.items() if one.address != str(rank)]
        which = " ".join([job, *shown])
        print(f"rdb: the query is true of no event of {which}: {args.query}", file=sys.stderr)
    return 0 if rows else 1


def _show_counts(args: argparse.Namespace, found: Mapping[int, _Found]) -> int:
    if args.json:
        print_json([{"rank": rank, "count": one.events} for rank, one in found.items()])
    elif found:
        cells = [(one.address, str(one.events)) for one in found.values()]
        print_table(("RANK", "EVENTS"), cells, right=(0, 1))
    return 0 if any(one.events for one in found.values()) else 1


def _search(
    path: Path, only: str | None, text: str, way: str, limit: int, rank: int
) -> _Found | DamagedRecording:
    job = _opened(path, only)
    recording, backwards = job.rank(rank), way == "prev"
    damaged = damage(recording)
    if damaged is not None:
        return damaged
    address, begins_ns = job.address(rank), _begins_ns(recording)
    if way == "count":
        return _Found(address, begins_ns, [], count_events(recording, Query(text)))
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
    return _Found(address, begins_ns, rows, sum(row["events"] for row in rows))


def _opened(path: Path, only: str | None) -> Job:
    return open_job(path) if only is None else open_job(path).only(only)


def _begins_ns(recording: RankRecording) -> int | None:
    first = next(recording.records(), None)
    return None if first is None else first.at_ns


def _hint(path: Path, only: str | None, text: str, rank: int) -> str:
    from rdb.recording.query.names import hint_of_names  # late import: it reads symbols

    return hint_of_names(Query(text), _opened(path, only).rank(rank))
