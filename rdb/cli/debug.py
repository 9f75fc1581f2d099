"""`rdb attach` and `rdb bisect`.  Their packages are imported when a command needs them."""

from __future__ import annotations

import argparse

from rdb.cli.elsewhere import reached
from rdb.cli.needed import need_gdb, need_log, need_ranks, say_unrecorded
from rdb.cli.run import say_what_may_not_replay
from rdb.recording import open_job
from rdb.recording.processes import ProcessName
from rdb.recording.stored import check_some_stored


def attach_command(args: argparse.Namespace) -> int:
    need_gdb()
    with reached(open_job(args.job), args.hosts) as elsewhere:
        if elsewhere is not None:
            name = args.rank and ProcessName.parse(args.rank)
            elsewhere.fetch((name.rank,) if name else None)
        job = need_ranks(args.job, args.rank)
        say_unrecorded(job)
        say_what_may_not_replay(str(job.path), args.job)
        from rdb.console.app import main
        from rdb.session.session import FEW

        if len(job.ranks) > FEW:
            # a few ranks' servers check that themselves, at once
            check_some_stored(job.path / "files")

        return main(job, args.script, elsewhere)


def bisect_command(args: argparse.Namespace) -> int:
    job = need_log(need_ranks(args.job, args.rank))
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
