"""`rdb timeline`: a picture of a whole job in a file."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rdb.cli.needed import damage, need_log, sound
from rdb.cli.on import need_rank, workers
from rdb.errors import DamagedRecording, UnknownJob, Usage
from rdb.recording import open_job

if TYPE_CHECKING:
    from rdb.picture.collect import Part

_ENDINGS = {"html": ".html", "perfetto": ".json"}


def timeline_command(args: argparse.Namespace) -> int:
    from rdb.picture.collect import collect
    from rdb.picture.page import page
    from rdb.picture.perfetto import trace

    job = need_log(open_job(args.job))
    bookmarks = _bookmarks(args.bookmark)
    with workers(job, None, args.on, "rank") as (pool, there):
        if not there:
            raise UnknownJob(f"{job.name} has no ranks")
        for rank, _ in bookmarks.values():
            need_rank(job, rank, there)
        parts = sound(there, pool.map(partial(_part, job.path, bookmarks), there))
    command = shlex.join(str(word) for word in job.meta.get("argv", []))
    picture = collect(job.name, command, list(parts.values()))
    kind = args.format
    text = page(picture) if kind == "html" else json.dumps(trace(picture), separators=(",", ":"))
    path = Path(args.output or f"{job.name}{_ENDINGS[kind]}")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage(f"timeline: cannot write {path}: {error.strerror}") from error
    calls = sum(len(lane.slices) for lane in picture.lanes)
    where = "open it in a browser" if kind == "html" else "open it at ui.perfetto.dev"
    counts = f"{len(picture.lanes)} ranks, {calls} calls, {len(picture.arrows)} messages"
    print(f"{path}: {counts}; {where}")
    for problem in picture.missing:
        print(f"not shown: {problem}")
    return 0


def _part(
    path: Path, bookmarks: Mapping[str, tuple[int, int]], rank: int
) -> Part | DamagedRecording:
    from rdb.picture.collect import part

    job = open_job(path)
    damaged = damage(job.rank(rank))
    return part(job, rank, bookmarks) if damaged is None else damaged


def _bookmarks(given: list[str]) -> dict[str, tuple[int, int]]:
    """Parses NAME=RANK:EVENT texts."""
    found = {}
    for text in given:
        name, _, place = text.rpartition("=")
        rank, _, event = place.partition(":")
        if not (name and rank.isdigit() and event.isdigit()):
            raise Usage(f"{text!r} is not a bookmark", "for example --bookmark start=0:1200")
        found[name] = (int(rank), int(event))
    return found
