"""`rdb ls`, `rdb info`, `rdb rm`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from typing import Any

from rdb.cli.output import print_json, print_table
from rdb.errors import RdbError
from rdb.recording import Job, RankRecording, home, list_jobs, open_job


def ls_command(args: argparse.Namespace) -> int:
    rows = [_job_row(job) for job in list_jobs()]
    if args.json:
        print_json(rows)
    elif not rows:
        print(f"no recorded jobs in {home()}; rdb run -- PROG records one", file=sys.stderr)
    else:
        print_table(
            ("JOB", "RANKS", "EVENTS", "STATE", "SIZE", "RECORDED", "PROGRAM"),
            [
                (
                    row["job"],
                    str(len(row["ranks"])),
                    str(row["events"]),
                    row["state"],
                    _size(row["bytes"]),
                    _when(row["created_ns"]),
                    shlex.join(row["argv"]),
                )
                for row in rows
            ],
            right=(1, 2, 4),
        )
    return 0


def _job_row(job: Job) -> dict[str, Any]:
    """One line of `ls`; a job that cannot be read is listed with the reason as its state."""
    try:
        meta = job.meta
        ranks = [_rank_row(rank) for rank in job.all_ranks()]
        state = _merged([row["state"] for row in ranks])
    except RdbError as error:
        meta, ranks, state = {}, [], error.message
    return {
        "job": job.name,
        "ranks": [row["rank"] for row in ranks],
        "events": sum(row["events"] for row in ranks),
        "state": state,
        "bytes": _bytes(job),
        "created_ns": meta.get("created_ns", 0),
        "argv": meta.get("argv", []),
    }


def _rank_row(rank: RankRecording) -> dict[str, Any]:
    try:
        return {
            "rank": rank.rank,
            "state": rank.state,
            "events": rank.last_event + 1,
            "checkpoints": len(rank.checkpoints),
            "pid": rank.meta.get("pid"),
            "host": rank.meta.get("host"),
            "damage": rank.damage,
        }
    except RdbError as error:
        return {
            "rank": rank.rank,
            "state": "damaged" if error.exit_code == 5 else error.message,
            "events": 0,
            "checkpoints": 0,
            "pid": None,
            "host": None,
            "damage": error.message,
        }


def _merged(states: list[str]) -> str:
    """`exited 0`, or `signal 6 (1), killed (3)` where ranks differ."""
    if not states:
        return "nothing recorded"
    counts = {state: states.count(state) for state in states}
    if len(counts) == 1:
        return states[0]
    return ", ".join(f"{state} ({count})" for state, count in counts.items())


def info_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    ranks = [_rank_row(rank) for rank in job.all_ranks()]
    damaged = any(row["damage"] for row in ranks)
    if args.json:
        print_json({**job.meta, "path": str(job.path), "bytes": _bytes(job), "ranks": ranks})
        return 5 if damaged else 0
    meta = job.meta
    print(f"job       {job.name}")
    print(f"command   {shlex.join(meta['argv'])}")
    print(f"directory {meta['cwd']}")
    print(f"recorded  {_when(meta['created_ns'])}, launcher: {meta['launcher']}")
    print(f"kept in   {job.path} ({_size(_bytes(job))})")
    print_table(
        ("RANK", "STATE", "EVENTS", "CHECKPOINTS", "PID", "HOST"),
        [
            (
                str(row["rank"]),
                row["state"],
                str(row["events"]),
                str(row["checkpoints"]),
                str(row["pid"]),
                str(row["host"]),
            )
            for row in ranks
        ],
        right=(0, 2, 3, 4),
    )
    for row in ranks:
        if row["damage"]:
            print(f"rdb: rank {row['rank']} is damaged: {row['damage']}", file=sys.stderr)
    return 5 if damaged else 0


def rm_command(args: argparse.Namespace) -> int:
    jobs = [open_job(name) for name in args.job]  # all known before the first one goes
    for job in jobs:
        job.remove()
        print(f"rdb: removed {job.name}", file=sys.stderr)
    return 0


def _bytes(job: Job) -> int:
    """Room taken on the disk (segments are preallocated, images sparse)."""
    total = 0
    for path in job.path.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except FileNotFoundError:  # a running job renames its files
            continue
    return total


def _size(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _when(created_ns: int) -> str:
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(created_ns / 1e9)) if created_ns else "?"
    )
