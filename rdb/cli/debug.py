"""`rdb attach` and `rdb bisect`: their own packages do the work, loaded when asked for."""

from __future__ import annotations

import argparse
import shutil

from rdb.errors import MissingTool, UnknownJob
from rdb.recording import open_job


def _need_gdb() -> None:
    if shutil.which("gdb") is None:
        raise MissingTool("gdb is not in PATH", "apt-get install gdb")


def _need_ranks(name: str, rank: int | None = None) -> None:
    """Refuses at once what cannot be debugged: unknown, foreign or damaged recordings."""
    job = open_job(name)
    ranks = job.ranks if rank is None else [rank]
    if not ranks:
        raise UnknownJob(f"{job.name} has no ranks")
    for number in ranks:
        _ = job.rank(number).index


def attach_command(args: argparse.Namespace) -> int:
    _need_ranks(args.job)
    _need_gdb()
    from rdb.console import main

    return main(args.job, args.script)


def bisect_command(args: argparse.Namespace) -> int:
    _need_ranks(args.job, args.rank)
    _need_gdb()
    from rdb.console.bisect import main

    return main(args.job, args.expression, rank=args.rank, last=args.last, as_json=args.json)
