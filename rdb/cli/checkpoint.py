"""`rdb checkpoint`: a running job is asked for a checkpoint of each of its processes."""

from __future__ import annotations

import argparse
import sys
import time

from rdb.errors import RdbError
from rdb.live.request import request, running, taken
from rdb.recording import Job, open_job


def checkpoint_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    if not running(job):
        raise RdbError(f"{job.name} does not run here", "rdb ls shows what runs")
    code = _once(job, args.timeout)
    while args.every and running(job):
        time.sleep(args.every)
        if running(job):
            code = max(code, _once(job, args.timeout))
    return code


def _once(job: Job, timeout_s: int) -> int:
    """All are asked before one is waited for."""
    asked = [(recording, request(recording)) for recording in running(job)]
    until_s = time.monotonic() + timeout_s
    code = 0
    for recording, before in asked:
        image = taken(recording, before, until_s)
        if image is not None:
            print(f"rank {recording.name}: checkpoint {image.number} at event {image.event}")
            continue
        code = 1
        print(
            f"rdb: rank {recording.name} has not come to an event in {timeout_s} s; "
            "its checkpoint is taken at the next one",
            file=sys.stderr,
        )
    return code
