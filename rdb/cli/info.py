"""`rdb info`."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import Any

from rdb.cli.far_ranks import look_elsewhere
from rdb.cli.needed import say_missing
from rdb.cli.output import print_json, print_table
from rdb.cli.rows import (
    command_text,
    disk_bytes,
    ends_without_log,
    process_row,
    size_text,
    time_text,
)
from rdb.coordinate.coordinated import committed, damaged_commits, unrecorded
from rdb.errors import RdbError, UnknownJob
from rdb.recording import Job, Process, RankRecording, open_job
from rdb.recording.log.describe import mpi_name
from rdb.recording.messages.queues import ANY, never_completed
from rdb.recording.mpi.communication import RankCommunication
from rdb.recording.order import lean_ranks, order_ranks, unexpanded, unregenerated
from rdb.recording.verbs.objects import HEADER, Verbs


def info_command(args: argparse.Namespace) -> int:
    job = open_job(args.job)
    processes = [process_row(process, more=_never_completed) for process in job.processes()]
    ends_without_log(job, processes)
    look_elsewhere(job, processes, args.hosts)
    verbs = _verbs(job, args.at)
    programs = [program for row in processes for program in row["programs"]]
    lost = damaged_commits(job) if unrecorded(job) else []
    for text in lost:
        print(f"rdb: {text}", file=sys.stderr)
    damaged = bool(lost) or any(row["damage"] for row in programs)
    if args.json:
        ranks = [row for row in processes if row["process"] == str(row["rank"])]
        print_json(
            {
                **job.meta,
                "path": str(job.path),
                "bytes": disk_bytes(job),
                **_order_json(job),
                "ranks": ranks,
                "processes": processes,
                "verbs": {name: state.as_json() for name, state in verbs.items()},
            }
        )
        return 5 if damaged else 0
    meta = job.meta
    print(f"job       {job.name}")
    print(f"command   {shlex.join(meta['argv'])}")
    print(f"directory {meta['cwd']}")
    if "parent" in meta:
        print(f"branch of {_parent(meta['parent'])}")
    print(f"recorded  {time_text(meta['created_ns'])}, launcher: {meta['launcher']}")
    print(f"kept in   {job.path} ({size_text(disk_bytes(job))})")
    _print_order(job)
    print_table(
        ("RANK", "STATE", "EVENTS", "CHECKPOINTS", "PID", "HOST", "PROGRAM"),
        [
            (
                # The tree: a child is below and to the right of its parent.
                "  " * row["name"].count(".") + row["name"],
                row["state"],
                str(row["events"]),
                str(row["checkpoints"]),
                str(row["pid"]),
                str(row["host"]),
                command_text(row["argv"]),
            )
            for row in programs
        ],
        right=(2, 3, 4),
    )
    _print_images(programs)
    if unrecorded(job):
        _print_together(job)
    _print_verbs(verbs)
    shown = {row["rank"] for row in processes}
    if "damage" in meta or not shown.issuperset(job.missing):  # no other host has them, either
        say_missing(job)
    for row in programs:
        for text in row["cautions"]:
            print(f"rank {row['name']}, {text}")
        if row["damage"]:
            print(f"rdb: rank {row['name']} is damaged: {row['damage']}", file=sys.stderr)
    return 5 if damaged else 0


def _never_completed(recording: RankRecording) -> list[str]:
    """Cautions about requests that an MPI rank had started but not completed when it exited."""
    if not recording.state.exited or recording.no_beginning is not None:
        return []
    communication = RankCommunication(recording.path, recording.world_first, recording.rank)
    return [*_collectives(communication), *_receives(communication, recording.rank)]


def _collectives(communication: RankCommunication) -> list[str]:
    begun = [communication.item(place) for place in communication.unfinished()]
    if not begun:
        return []
    first = min(begun, key=lambda one: one.event)
    return [
        f"{len(begun)} nonblocking collective{'s were' if len(begun) > 1 else ' was'} started but "
        f"never completed (MPI_Wait, MPI_Test): the first at event {first.event}, "
        f"{mpi_name(first.nr)}"
    ]


def _receives(communication: RankCommunication, rank: int) -> list[str]:
    found = never_completed(communication, rank)
    if not found:
        return []
    post, _ = found[0]
    source = "any rank" if post.source == ANY else f"rank {post.source}"
    tag = "any tag" if post.tag == ANY else f"tag {post.tag}"
    came = sum(here for _, here in found)
    return [
        f"{len(found)} receive{'s were' if len(found) > 1 else ' was'} posted but never completed "
        f"(MPI_Wait, MPI_Test), for {came} of them a message had come: the first at event "
        f"{post.event}, from {source}, {tag}"
    ]


def _parent(parent: dict[str, Any]) -> str:
    """`heat-1 at event 150`, or `heat-1 at events 0: 150, 1: 148` of several ranks."""
    cut = parent["cut"]
    where = ", ".join(f"{rank}: {event}" for rank, event in cut.items())
    return f"{parent['job']} at event" + (
        f" {next(iter(cut.values()))}" if len(cut) == 1 else f"s {where}"
    )


def _verbs(job: Job, event: int | None) -> dict[str, Verbs]:
    """The verbs objects of each program at EVENT, or at its end.

    UnknownJob: no program has EVENT.
    """
    found = {}
    newest = max((one.last_event for all_ in job.processes() for one in _usable(all_)), default=0)
    if event is not None and event > newest:
        raise UnknownJob(
            f"no process of {job.name} has event {event}", f"the last event of all is {newest}"
        )
    for process in job.processes():
        for recording in _usable(process):
            state = recording.verbs(event)
            if state:
                found[recording.name] = state
    return found


def _usable(process: Process) -> list[RankRecording]:
    return [recording for recording in process.programs if recording.damage is None]


def _print_verbs(verbs: dict[str, Verbs]) -> None:
    rows = [
        (name, f"{state.event:,}", *row) for name, state in verbs.items() for row in state.table()
    ]
    if rows:
        print_table(("RANK", "EVENT", *HEADER), rows, right=(1,))


def _print_together(job: Job) -> None:
    """The checkpoints of a job without a log, from which `rdb restart` can go on."""
    known = ", ".join(f"ckpt:{one.number}" for one in committed(job.path))
    print(f"no log (--record=off); checkpoints of all ranks together: {known or 'none yet'}")


def _print_order(job: Job) -> None:
    """For a job recorded with --record=order: whether its ranks can be replayed one by one."""
    ranks, left = _order(job)
    if ranks and left:
        print(
            "holds     the order of messages (--record=order); "
            f"rdb expand {job.name} regenerates the contents"
        )
    elif ranks:
        print("holds     the order of messages (--record=order), expanded")
    elif lean := _lean(job):
        made = "regenerated when they are needed" if lean[1] else "regenerated"
        print(f"holds     hashes of large messages (--record=lean), which are {made}")


def _order_json(job: Job) -> dict[str, Any]:
    ranks, left = _order(job)
    if ranks:
        return {"record": "order", "expanded": not left}
    if lean := _lean(job):
        return {"record": "lean", "expanded": not lean[1]}
    return {"record": "off" if unrecorded(job) else "full"}


def _order(job: Job) -> tuple[int, int]:
    """The number of ranks recorded with --record=order, and how many are not expanded."""
    try:
        return len(order_ranks(job)), len(unexpanded(job))
    except RdbError:  # the rank's own row reports the damage
        return 0, 0


def _lean(job: Job) -> tuple[int, int] | None:
    """As `_order`, for --record=lean; None: there are none."""
    try:
        ranks = len(lean_ranks(job))
        return (ranks, len(unregenerated(job))) if ranks else None
    except RdbError:  # the rank's own row reports the damage
        return None


def _print_images(programs: list[dict[str, Any]]) -> None:
    """Checkpoints, where a debugger can start at once; a rank with only the first has no rows."""
    rows = [
        (row["name"], str(image["number"]), str(image["event"]), size_text(image["bytes"]))
        for row in programs
        if row["checkpoints"] > 1 or row["first_event"]
        for image in row["images"]
    ]
    if rows:
        print_table(("RANK", "CHECKPOINT", "EVENT", "SIZE"), rows, right=(1, 2, 3))
    for row in programs:
        if row["first_event"]:
            print(
                f"rank {row['name']} begins at event {row['first_event']}: "
                "the events before were dropped (--keep)"
            )
