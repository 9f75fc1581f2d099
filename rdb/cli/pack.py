"""`rdb pack`: a job as one file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rdb.errors import Usage
from rdb.recording import open_job
from rdb.recording.packing import pack


def pack_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    out = Path(args.out or f"{job.name}.rdb")
    if out.is_dir() or not out.parent.is_dir():
        raise Usage(f"pack: -o {out}: not the name of a file")
    made = pack(job, out, args.ranks, args.since)
    what = f"{len(made.ranks)} rank{'s' if len(made.ranks) != 1 else ''}"
    print(
        f"rdb: packed {what} of {job.name}: {out} ({made.files} files, {made.size_bytes:,} bytes); "
        f"rdb attach {out}",
        file=sys.stderr,
    )
    return 0
