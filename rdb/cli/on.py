"""`--on`: where the work on each rank is done."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from rdb.cli.needed import say_missing
from rdb.errors import UnknownJob, Usage
from rdb.executor import Executor, Processes
from rdb.recording import Job, ProcessName
from rdb.recording.ranges import format_ranks


@contextmanager
def workers(
    job: Job, rank: str | None, on: str | None, what: str
) -> Iterator[tuple[Executor, Sequence[int]]]:
    """What does the work, and the ranks to work on: that of RANK, a rank or process, or all whose
    recordings it sees.  Missing ranks are named.

    WHAT: what an item of work is, for messages, such as `rank`.
    """
    chosen = None if rank is None else [ProcessName.parse(rank).rank]
    if on is None:
        say_missing(job, job.missing if chosen is None else ())
        yield Processes(what), chosen or job.ranks
        return
    if on not in ("ssh", "slurm") and not re.match("dask:.", on):
        raise Usage(f"--on {on}: write ssh, slurm or dask:HOST:PORT, the address of a scheduler")
    from rdb.dask import dask  # late import: it takes longer than most commands

    with dask(job, on, what) as pool:
        missing = set(range(job.meta.get("nranks") or 0)).difference(pool.ranks)
        say_missing(job, () if chosen else sorted(missing), "on a host with a worker")
        yield pool, chosen or pool.ranks


def need_rank(job: Job, rank: int, there: Collection[int]) -> None:
    if rank not in there:
        known = format_ranks(there) or "none"
        raise UnknownJob(f"{job.name} has no rank {rank}", f"its ranks: {known}")
