"""What commands have in common that ask for a job's ranks on other hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rdb.agents.elsewhere import Elsewhere, hosts_of
from rdb.errors import RdbError
from rdb.launch.hosts import folded
from rdb.recording import Job


@contextmanager
def reached(job: Job, hosts_file: str | None = None) -> Iterator[Elsewhere | None]:
    """Agents on the job's other hosts; None if there are none, or none answers, which is said."""
    hosts = hosts_of(job, hosts_file)
    if not hosts:
        yield None
        return
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
