"""`rdb expand`, and the same for commands that replay a job recorded with --record=order."""

from __future__ import annotations

import argparse
import sys
import time

from rdb.errors import Usage
from rdb.recording import Job, open_job
from rdb.recording.order import order_ranks, unexpanded


def expand_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    if not order_ranks(job):
        raise Usage(f"{job.name} was not recorded with --record=order: there is nothing to expand")
    if not unexpanded(job):
        print(f"rdb: {job.name} is expanded already", file=sys.stderr)
        return 0
    _expand(job, args.mpi, args.launcher, args.hosts)
    return 0


def expand_if_needed(job: Job) -> None:
    """Called before ranks of the job are replayed one by one."""
    if unexpanded(job):
        _expand(job, None, None, None)


def _expand(job: Job, mpi: str | None, launcher: str | None, hosts: str | None) -> None:
    from rdb.live.expand.all_ranks import expand  # late import: it loads the launchers

    shown = sys.stderr.isatty()
    start = time.monotonic()

    def progress(count: int) -> None:
        if shown:
            text = f"rdb: {job.name}: regenerating message contents, {count:,} bytes so far"
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    try:
        count = expand(job, mpi, launcher, hosts, progress)
    finally:
        if shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    took = time.monotonic() - start
    if not count:
        return  # no message was long enough to be left out of a log
    print(
        f"rdb: {job.name} held only the order of messages: a replay of all ranks regenerated "
        f"{count:,} bytes in {took:.1f} s",
        file=sys.stderr,
    )
