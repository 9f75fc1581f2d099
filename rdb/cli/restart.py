"""`rdb restart`: a job runs live again, as a branch of its own recording."""

from __future__ import annotations

import argparse
import sys

from rdb.cli.carrying import carried
from rdb.cli.restart_common import say_lost
from rdb.coordinate.coordinated import unrecorded
from rdb.coordinate.newest import newest_with_checkpoint
from rdb.live.until_damage import until_damage
from rdb.recording import open_job


def restart_command(args: argparse.Namespace) -> int:
    asked = open_job(args.job)
    if args.at is None and not asked.packed and unrecorded(asked):
        newest = newest_with_checkpoint(asked, args.in_place)
        if newest.path != asked.path:
            print(
                f"rdb: {newest.name} is the newest that went on from {asked.name}", file=sys.stderr
            )
        asked = newest
    with carried(asked, args) as (job, pack):
        if unrecorded(job):
            from rdb.cli.restart_checkpoint import from_checkpoint  # late imports: each has many

            return from_checkpoint(job, args, pack)
        from rdb.cli.restart_log import from_log

        with until_damage(job) as (sound, lost):
            say_lost(lost)
            return from_log(sound, args, pack)
