"""`rdb checkpoint`: takes a checkpoint of each process of a running job."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from rdb.agents.elsewhere import Elsewhere
from rdb.cli.elsewhere import reached
from rdb.coordinate.coordinated import alive, take, unrecorded
from rdb.coordinate.newest import newest_alive
from rdb.coordinate.request import checkpoint_all, running
from rdb.errors import RdbError
from rdb.recording import Job, open_job
from rdb.recording.processes import ProcessName
from rdb.recording.state import RUNNING
from rdb.wire.channel import Message


def checkpoint_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    if unrecorded(job):
        return _together(newest_alive(job), args)
    with reached(job, args.hosts) as elsewhere:
        if not running(job) and not _far(elsewhere):
            raise RdbError(f"{job.name} does not run", "rdb ls shows what runs")
        code = _all(job, elsewhere, args.timeout)
        while args.every and (running(job) or _far(elsewhere)):
            time.sleep(args.every)
            if running(job) or _far(elsewhere):
                code = max(code, _all(job, elsewhere, args.timeout))
    return code


def _far(elsewhere: Elsewhere | None) -> bool:
    """Whether any rank runs on another host."""
    return elsewhere is not None and RUNNING in elsewhere.states().values()


def _all(job: Job, elsewhere: Elsewhere | None, timeout_s: int) -> int:
    """Takes checkpoints here and on other hosts at the same time; returns the exit code."""
    if elsewhere is None:
        return _print({"": {"taken": checkpoint_all(job, timeout_s)}})
    with ThreadPoolExecutor(1) as threads:
        far = threads.submit(elsewhere.all, {"op": "checkpoint", "timeout_s": timeout_s})
        here = checkpoint_all(job, timeout_s)
        return _print({"": {"taken": here}, **far.result()})


def _print(answers: dict[str, Message]) -> int:
    """Prints a line for each process; returns 1 if any has no checkpoint, else 0."""
    code = 0
    rows = [one for answer in answers.values() for one in answer.get("taken", ())]
    for one in sorted(rows, key=lambda one: ProcessName.parse(one["process"]).rank):
        if "error" in one:
            code = 1
            print(f"rdb: rank {one['process']}: {one['error']}", file=sys.stderr)
        else:
            print(f"rank {one['process']}: checkpoint {one['number']} at event {one['event']}")
    for answer in answers.values():
        if "error" in answer:
            code = 1
            print(f"rdb: {answer['error']}", file=sys.stderr)
    return code


def _together(job: Job, args: argparse.Namespace) -> int:
    """Takes checkpoints of a job without a log: of all ranks, or of none."""
    _print_taken(job, args.timeout)
    while args.every and alive(job):
        time.sleep(args.every)
        if alive(job):
            _print_taken(job, args.timeout)
    return 0


def _print_taken(job: Job, timeout_s: int) -> None:
    taken_all = take(job, timeout_s)
    ranks = zip(taken_all.stood_ns, taken_all.fork_ns, taken_all.size_bytes, strict=True)
    for rank, (stood_ns, fork_ns, size) in enumerate(ranks):
        print(
            f"rank {rank}: checkpoint {taken_all.number}, {size / 1e6:.1f} MB; "
            f"the rank was stopped for {stood_ns / 1e6:.1f} ms, "
            f"{fork_ns / 1e6:.1f} of them for the image"
        )
