"""`rdb expand`, and the same for commands that replay a job recorded with --record=order or
--record=lean.
"""

from __future__ import annotations

import argparse
import sys
import time

from rdb.errors import Usage
from rdb.recording import Job, open_job
from rdb.recording.order import lean_ranks, order_ranks, unexpanded, unregenerated


def expand_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    if lean_ranks(job):
        if not unregenerated(job):
            print(f"rdb: {job.name} is expanded already", file=sys.stderr)
        return 0 if regenerate_all(job) else 1
    if not order_ranks(job):
        raise Usage(
            f"{job.name} was recorded with neither --record=order nor --record=lean: there is "
            "nothing to expand"
        )
    if not unexpanded(job):
        print(f"rdb: {job.name} is expanded already", file=sys.stderr)
        return 0
    _expand(job, args.mpi, args.launcher, args.hosts)
    return 0


def expand_if_needed(job: Job, by_need: bool = False) -> None:
    """Called before ranks of the job are replayed one by one.  BY_NEED: by replicas that ask for
    large messages of a job recorded with --record=lean."""
    if unexpanded(job):
        _expand(job, None, None, None)
    if not by_need:
        regenerate_all(job)


def regenerate_all(job: Job) -> bool:
    """Makes the large messages of a job recorded with --record=lean.  False: some cannot be."""
    if not unregenerated(job):
        return True
    from rdb.live.expand.deliver import regenerate, said  # late import: few jobs need it

    start = time.monotonic()
    count, why = regenerate(job)
    took = time.monotonic() - start
    if count:
        print(
            f"rdb: {job.name}: replays of the senders regenerated {count:,} bytes of large "
            f"messages in {took:.1f} s",
            file=sys.stderr,
        )
    if why:
        print(f"rdb: {said(job, why)}", file=sys.stderr)
    return not why


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
