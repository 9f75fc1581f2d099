"""`rdb pack`: a job as one file."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from rdb.cli.carrying import gathered
from rdb.cli.expand import regenerate_all
from rdb.coordinate.coordinated import unrecorded
from rdb.coordinate.pack_checkpoints import pack_checkpoints
from rdb.errors import DamagedRecording, Usage
from rdb.recording import open_job
from rdb.recording.packing import pack


def pack_command(args: argparse.Namespace) -> int:
    job = gathered(open_job(args.job), since=args.since or 0)
    out = Path(args.out or f"{job.name}.rdb")
    # The pack replaces the file OUT, but never a device.
    try:
        taken = out.exists() and not out.is_file()
    except OSError as error:
        raise Usage(f"pack: -o {out}: {error.strerror}") from error
    if taken or str(out) == "-":
        raise Usage(f"pack: -o {out}: not the name of a file")
    if not out.parent.is_dir():
        raise Usage(f"pack: -o {out}: there is no directory {out.parent}")
    if unrecorded(job):
        if args.ranks is not None:
            raise Usage(
                f"pack: --ranks: {job.name} ran with --record=off: its ranks restart together"
            )
        made = pack_checkpoints(job, out, args.since)
        use = f"rdb restart {shlex.quote(str(out))}"
    else:
        with suppress(DamagedRecording):  # told below
            regenerate_all(job)  # a pack has all that its ranks need
        made = pack(job, out, args.ranks, args.since)
        use = f"rdb attach {shlex.quote(str(out))}"
    for line in made.lost:
        print(f"rdb: {line}", file=sys.stderr)
    what = f"{len(made.ranks)} rank{'s' if len(made.ranks) != 1 else ''}"
    print(
        f"rdb: packed {what} of {job.name}: {out} "
        f"({made.files} files, {made.size_bytes:,} bytes); {use}",
        file=sys.stderr,
    )
    return 0
