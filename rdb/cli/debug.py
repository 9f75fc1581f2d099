"""`rdb attach` and `rdb bisect`: their own packages do the work, loaded when asked for."""

from __future__ import annotations

import argparse
import shutil
import sys

from rdb.cli.elsewhere import reached
from rdb.cli.expand import expand_if_needed
from rdb.cli.run import say_what_may_not_replay
from rdb.coordinate.coordinated import unrecorded
from rdb.errors import DamagedRecording, MissingTool, UnknownJob
from rdb.recording import Job, open_job
from rdb.recording.processes import ProcessName
from rdb.recording.ranges import format_ranks
from rdb.recording.stored import check_some_stored


def need_gdb() -> None:
    """Everything that shows a rank at a place needs it."""
    if shutil.which("gdb") is None:
        raise MissingTool("gdb is not in PATH", "apt-get install gdb")


def need_ranks(name: str, rank: str | None = None, replayed: bool = True) -> Job:
    """Refuses at once what cannot be debugged: unknown, foreign or damaged recordings.

    Of a damaged rank among others it says so, and leaves it out.

    REPLAYED: more than the log is needed, so a recording of the order is expanded first.
    """
    job = open_job(name) if rank is None else open_job(name).only(rank)
    if not job.ranks:
        raise UnknownJob(f"{job.name} has no ranks")
    job = sound_ranks(job)
    say_missing(job)
    if replayed:
        expand_if_needed(job)
    return job


def sound_ranks(job: Job) -> Job:
    """The job without the ranks whose logs are damaged, which are named, unless all are."""
    damaged: dict[int, DamagedRecording] = {}
    for number in job.ranks:
        try:
            job.rank(number).check()
        except DamagedRecording as error:
            damaged[number] = error
    if len(damaged) == len(job.ranks):
        raise damaged[job.ranks[0]]
    for number, why in damaged.items():
        print(f"rdb: rank {number} is left out: {why.message}", file=sys.stderr)
    return job.without(damaged) if damaged else job


def say_missing(job: Job) -> None:
    """An answer about the job is one about those of its ranks that are here."""
    if "damage" in job.meta:
        print(f"rdb: {job.meta['damage']}: only its ranks say what it was", file=sys.stderr)
    if job.missing:
        where = "in this pack" if job.packed else f"in {job.path}"
        print(f"rdb: no recording of rank {format_ranks(job.missing)} is {where}", file=sys.stderr)


def attach_command(args: argparse.Namespace) -> int:
    need_gdb()
    with reached(open_job(args.job), args.hosts) as elsewhere:
        if elsewhere is not None:
            name = args.rank and ProcessName.parse(args.rank)
            elsewhere.fetch((name.rank,) if name else None)
        job = need_ranks(args.job, args.rank)
        if unrecorded(job):
            print(
                f"rdb: {job.name} ran with --record=off: there is only its beginning to look at; "
                f"rdb restart {job.name} goes on from its newest checkpoint",
                file=sys.stderr,
            )
        say_what_may_not_replay(str(job.path), args.job)
        from rdb.console.app import main
        from rdb.session.session import FEW

        if len(job.ranks) > FEW:
            check_some_stored(job.path / "files")  # of a few ranks their servers do, at once

        return main(job, args.script, elsewhere)


def bisect_command(args: argparse.Namespace) -> int:
    job = need_ranks(args.job, args.rank)
    need_gdb()
    from rdb.console.bisect import main

    options = [
        f"--{name} {value}"
        for name, value in (("from", args.start), ("to", args.to), ("depth", args.depth))
        if value is not None
    ]
    return main(
        job,
        args.expression,
        last=args.last,
        as_json=args.json,
        options=" ".join(options),
        jobs=args.jobs,
    )
