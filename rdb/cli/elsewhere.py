"""Shared by commands that ask for a job's ranks on other hosts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdb.errors import DamagedRecording, RdbError
from rdb.launch.hosts import folded, read_hosts
from rdb.recording import Job

if TYPE_CHECKING:
    from rdb.agents.elsewhere import Elsewhere


@contextmanager
def reached(job: Job, hosts_file: str | None = None) -> Iterator[Elsewhere | None]:
    """Agents on the job's other hosts; None if no other host has one (a message says so)."""
    hosts = hosts_of(job, hosts_file)
    if not hosts:
        yield None
        return
    from rdb.agents.elsewhere import Elsewhere  # late import: asyncio takes as long as all the rest

    try:
        elsewhere = Elsewhere(job, hosts)
    except RdbError as error:
        print(f"rdb: {folded(hosts)}: {error.message}", file=sys.stderr)
        yield None
        return
    with elsewhere:
        for host, why in elsewhere.failed.items():
            print(f"rdb: {host} does not answer: {why}", file=sys.stderr)
        yield elsewhere if len(elsewhere.failed) < len(hosts) else None


def hosts_of(job: Job, hosts_file: str | None = None) -> list[str]:
    """The other hosts that run the job's ranks or hold parts of it; empty if all is here."""
    if job.packed and hosts_file is None:
        return []
    here = os.uname().nodename
    unfinished = []
    for rank in job.ranks:
        last = job.process(rank).programs[-1].glance()
        try:
            host = last.meta.get("host")
        except DamagedRecording:  # the log's reader reports it
            continue
        if host is not None and last.end is None:
            unfinished.append(str(host))
    named = unfinished
    if hosts_file is not None:
        named = [one.name for one in read_hosts(hosts_file)] + unfinished
    elif unfinished or len(job.ranks) < (job.meta.get("nranks") or 1):  # otherwise all is here
        named = [str(one) for one in job.meta.get("hosts", ())] + unfinished
    return [name for name in dict.fromkeys(named) if name != here]
