"""Sends a job as a pack to hosts that do not see its directory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdb.cli.elsewhere import reached
from rdb.coordinate.centre import is_apart
from rdb.coordinate.coordinated import choose, unrecorded
from rdb.home import home
from rdb.launch.hosts import folded, read_hosts
from rdb.recording import Job, open_job
from rdb.temporary import temporary


def gathered(job: Job, at: str | None = None, since: int | None = None) -> Job:
    """The job with the recordings that its hosts have on disks of their own."""
    if not is_apart(job.path) or job.packed:
        return job
    if unrecorded(job):
        from rdb.agents.gathering import gather  # late imports, here and below: asyncio

        return gather(job, at, since)
    if len(job.ranks) < int(job.meta.get("nranks") or 1):
        with reached(job) as elsewhere:
            if elsewhere is not None:
                elsewhere.fetch()
        return open_job(job.path)
    return job


@contextmanager
def carried(job: Job, args: argparse.Namespace) -> Iterator[tuple[Job, Path | None]]:
    """The job to restart, and a pack for hosts that do not see it (None: all see it).

    A pack that was made for this is removed afterwards; its job then is the opened pack.
    """
    given = Path(args.job)
    if job.packed:  # a program in this directory may have the job's name
        yield job, given
        return
    job = gathered(job, args.at)
    hosts = _blind(job, args)
    if not hosts:
        yield job, None
        return
    from rdb.coordinate.pack_checkpoints import pack_checkpoints  # late imports: few restarts pack
    from rdb.recording.packing import pack

    path = temporary(home(), "carried")
    print(f"rdb: {folded(hosts)} does not see {job.path}: rdb sends it as a pack", file=sys.stderr)
    try:
        if unrecorded(job):
            pack_checkpoints(job, path, choose(job, args.at).number)
        else:
            pack(job, path)
        yield open_job(path), path
    finally:
        path.unlink(missing_ok=True)


def _blind(job: Job, args: argparse.Namespace) -> list[str]:
    if not args.hosts or args.launcher == "srun" or args.plan:
        return []
    from rdb.agents.elsewhere import Elsewhere

    with Elsewhere(job, [one.name for one in read_hosts(args.hosts)]) as elsewhere:
        elsewhere.agents.need_all()
        return elsewhere.apart
