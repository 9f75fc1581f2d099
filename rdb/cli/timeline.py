"""`rdb timeline`: a picture of a whole job in a file."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from rdb.cli.needed import need_log, need_ranks
from rdb.errors import Usage
from rdb.recording import Job

_ENDINGS = {"html": ".html", "perfetto": ".json"}


def timeline_command(args: argparse.Namespace) -> int:
    from rdb.picture.collect import collect
    from rdb.picture.page import page
    from rdb.picture.perfetto import trace

    job = need_log(need_ranks(args.job, replayed=False))
    command = shlex.join(str(word) for word in job.meta.get("argv", []))
    picture = collect(job, job.name, command, _bookmarks(job, args.bookmark))
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


def _bookmarks(job: Job, given: list[str]) -> dict[str, tuple[int, int]]:
    """Parses NAME=RANK:EVENT texts.  Usage: malformed; UnknownJob: no such rank or event."""
    found = {}
    for text in given:
        name, _, place = text.rpartition("=")
        rank, _, event = place.partition(":")
        if not (name and rank.isdigit() and event.isdigit()):
            raise Usage(f"{text!r} is not a bookmark", "for example --bookmark start=0:1200")
        recording = job.rank(int(rank))
        recording.event(int(event))  # raises if there is no such event
        found[name] = (int(rank), int(event))
    return found
