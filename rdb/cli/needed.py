"""What a command needs of a job before it asks for more: ranks, their logs, GDB."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from rdb.cli.expand import expand_if_needed
from rdb.coordinate.coordinated import unrecorded
from rdb.errors import DamagedRecording, MissingTool, UnknownJob
from rdb.recording import Job, RankRecording, open_job
from rdb.recording.ranges import format_ranks

T = TypeVar("T")
_GOES_ON = "rdb restart {} goes on from its newest checkpoint"


def need_gdb() -> None:
    """MissingTool: GDB is missing, which every view of a rank needs."""
    if shutil.which("gdb") is None:
        raise MissingTool("gdb is not in PATH", "apt-get install gdb")


def need_ranks(name: str, rank: str | None = None, replayed: bool = True) -> Job:
    """The job, for debugging.  Refuses unknown, foreign and damaged recordings.

    A damaged rank among others is named and left out. REPLAYED: the caller replays ranks, so a job
    recorded with --record=order is expanded first.
    """
    job = open_job(name) if rank is None else open_job(name).only(rank)
    if not job.ranks:
        raise UnknownJob(f"{job.name} has no ranks")
    job = sound_ranks(job)
    say_missing(job)
    if replayed:
        expand_if_needed(job, by_need=True)
    return job


def sound_ranks(job: Job) -> Job:
    """The job without its damaged ranks, which are named.  DamagedRecording: all are damaged."""
    whole = sound(job.ranks, (damage(job.rank(number)) for number in job.ranks))
    return job.without(set(job.ranks) - whole.keys()) if len(whole) < len(job.ranks) else job


def damage(recording: RankRecording) -> DamagedRecording | None:
    """The error that makes its log unusable, with file and offset; None: the log is sound."""
    try:
        recording.check()
    except DamagedRecording as error:
        return error
    return None


def sound(ranks: Sequence[int], each: Iterable[T | DamagedRecording]) -> dict[int, T]:
    """The answers of the ranks, EACH in turn, that are not damaged; the others are named, or, if
    none is left, the first one's error is raised."""
    answers = dict(zip(ranks, each, strict=True))
    damaged = {rank: one for rank, one in answers.items() if isinstance(one, DamagedRecording)}
    if damaged and len(damaged) == len(answers):
        raise next(iter(damaged.values()))
    for rank, why in damaged.items():
        print(f"rdb: rank {rank} is left out: {why.message}", file=sys.stderr)
    return {rank: one for rank, one in answers.items() if not isinstance(one, DamagedRecording)}


def say_missing(job: Job, missing: Collection[int] | None = None, where: str | None = None) -> None:
    """Says which ranks are missing (default: here): answers are only about the others."""
    if "damage" in job.meta:
        print(f"rdb: {job.meta['damage']}: rdb takes what is known from the ranks", file=sys.stderr)
    missing = job.missing if missing is None else missing
    if missing:
        where = where or ("in this pack" if job.packed else f"in {job.path}")
        print(f"rdb: no recording of rank {format_ranks(missing)} is {where}", file=sys.stderr)


def say_unrecorded(job: Job) -> None:
    if unrecorded(job):
        print(
            f"rdb: {job.name} ran with --record=off: only its beginning can be debugged; "
            f"{_GOES_ON.format(job.name)}",
            file=sys.stderr,
        )


def need_log(job: Job) -> Job:
    """UnknownJob for a job without a log: there are no events to ask for."""
    if unrecorded(job):
        raise UnknownJob(
            f"{job.name} ran with --record=off: it has no log",
            _GOES_ON.format(job.name),
        )
    return job
