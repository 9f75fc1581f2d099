"""`rdb ls`, `rdb rm`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from rdb.cli.output import print_json, print_table
from rdb.cli.rows import (
    command_text,
    disk_bytes,
    ends_without_log,
    process_row,
    size_text,
    time_text,
)
from rdb.coordinate.centre import is_apart
from rdb.errors import RdbError
from rdb.recording import Job, find_job, home, list_jobs


def ls_command(args: argparse.Namespace) -> int:
    rows = list(_job_rows())
    if args.json:
        print_json(rows)
    elif not rows:
        print(f"no recorded jobs in {home()}; rdb run -- PROG records one", file=sys.stderr)
    else:
        print_table(
            ("JOB", "RANKS", "EVENTS", "CHECKPOINTS", "STATE", "SIZE", "RECORDED", "PROGRAM"),
            [
                (
                    row["job"],
                    _ranks_text(len(row["ranks"]), row["processes"]),
                    str(row["events"]),
                    str(row["checkpoints"]),
                    row["state"],
                    size_text(row["bytes"]),
                    time_text(row["created_ns"]),
                    command_text(row["argv"]),
                )
                for row in rows
            ],
            right=(1, 2, 3, 5),
        )
        for text in (text for row in rows for text in row["damage"]):
            print(f"rdb: damaged: {text}", file=sys.stderr)
    return 0


def _job_rows() -> Iterator[dict[str, Any]]:
    for job in list_jobs():
        try:
            yield _job_row(job)
        except OSError:
            if job.path.exists():  # else it was removed meanwhile
                raise


def _job_row(job: Job) -> dict[str, Any]:
    """One line of `ls`; a job that cannot be read is listed with the reason as its state."""
    try:
        meta = job.meta
        processes = [process_row(process, glance=True) for process in job.processes()]
        ends_without_log(job, processes)
        state = _merged([row["state"] for row in processes if row["process"] == str(row["rank"])])
        damaged = [row["process"] for row in processes if row["damage"] and "." in row["process"]]
        state += f", damaged: {', '.join(damaged)}" if damaged else ""
        if "damage" in meta:
            state += f" ({meta['damage'].removeprefix(f'{job.path}/')})"
    except RdbError as error:
        meta, processes, state = {}, [], error.message
    return {
        "job": job.name,
        "ranks": sorted({row["rank"] for row in processes}),
        "processes": len(processes),
        "events": sum(row["events"] for row in processes),
        "checkpoints": sum(row["checkpoints"] for row in processes),
        "state": state,
        "bytes": disk_bytes(job),
        "created_ns": meta.get("created_ns", 0),
        "argv": meta.get("argv", []),
        "damage": [row["damage"] for row in processes if row["damage"]],
    }


def _ranks_text(ranks: int, processes: int) -> str:
    """`2`, or `2 (7 processes)` where ranks started others."""
    return f"{ranks} ({processes} processes)" if processes > ranks else str(ranks)


def _merged(states: list[str]) -> str:
    """`exited 0`, or `signal 6 (1), killed (3)` where ranks differ."""
    if not states:
        return "nothing recorded"
    counts = {state: states.count(state) for state in states}
    if len(counts) == 1:
        return states[0]
    return ", ".join(f"{state} ({count})" for state, count in counts.items())


def rm_command(args: argparse.Namespace) -> int:
    failed = 0
    for name in args.job:
        try:
            job = find_job(name)
        except RdbError as error:  # as rm(1): the others are removed
            print(error.line(), file=sys.stderr)
            failed = failed or error.exit_code
            continue
        for host, why in _remove(job).items():
            print(f"rdb: {host} may still have its part of {job.path}: {why}", file=sys.stderr)
        what = f"the unpacked copy of {job.name}" if job.packed else job.name
        print(f"rdb: removed {what}", file=sys.stderr)
    return failed


def _remove(job: Job) -> dict[str, str]:
    """Returns the hosts that may still have their part of it, with the reason."""
    if not is_apart(job.path) or job.packed:
        job.remove()
        return {}
    from rdb.agents.preparing import remove_everywhere  # late import: asyncio

    return remove_everywhere(job)
