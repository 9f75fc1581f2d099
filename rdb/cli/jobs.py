"""`rdb ls`, `rdb info`, `rdb rm`."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Iterator
from typing import Any

from rdb.cli.debug import say_missing
from rdb.cli.far_ranks import look_elsewhere
from rdb.cli.output import print_json, print_table
from rdb.coordinate.board import State
from rdb.coordinate.centre import APART
from rdb.coordinate.coordinated import committed, damaged_commits, slots_of, unrecorded
from rdb.errors import RdbError, UnknownJob
from rdb.recording import Job, Process, RankRecording, find_job, home, list_jobs, open_job
from rdb.recording.checkpoints import read_images
from rdb.recording.log.describe import mpi_name
from rdb.recording.messages.queues import ANY, never_completed
from rdb.recording.mpi.communication import RankCommunication
from rdb.recording.order import order_ranks, unexpanded
from rdb.recording.verbs.objects import HEADER, Verbs

_OPEN, _KILLED = "open on ", "killed"
_COMMAND_CHARS = 72  # of a program's command line in a table


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
                    _size(row["bytes"]),
                    _when(row["created_ns"]),
                    _command(row["argv"]),
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
        processes = [_process_row(process, glance=True) for process in job.processes()]
        _ends_without_log(job, processes)
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
        "bytes": _bytes(job),
        "created_ns": meta.get("created_ns", 0),
        "argv": meta.get("argv", []),
        "damage": [row["damage"] for row in processes if row["damage"]],
    }


def _unreadable(error: RdbError) -> str:
    """`damaged`, or the reason without the path, which another column shows."""
    return "damaged" if error.exit_code == 5 else error.message.rpartition(": ")[2]


def _ranks_text(ranks: int, processes: int) -> str:
    """`2`, or `2 (7 processes)` where ranks started others."""
    return f"{ranks} ({processes} processes)" if processes > ranks else str(ranks)


def _process_row(process: Process, glance: bool = False) -> dict[str, Any]:
    """A process and the programs that it ran, as a row for tables and JSON."""
    programs = [_program_row(one, glance) for one in process.programs]
    return {
        "process": process.name,
        **programs[-1],
        "events": sum(row["events"] for row in programs),
        "checkpoints": sum(row["checkpoints"] for row in programs),
        "damage": next((row["damage"] for row in programs if row["damage"]), None),
        "programs": programs,
    }


def _program_row(program: RankRecording, glance: bool) -> dict[str, Any]:
    recording = program.glance() if glance else program
    try:
        images = recording.images
        if recording.meta.get("record") == "checkpoints":  # such a log has no records of images
            images = list(read_images(recording.path))
        return {
            "rank": recording.rank,
            "name": recording.name,
            "program": recording.meta.get("exe"),
            "argv": recording.meta.get("argv", []),
            "state": recording.state,
            "events": recording.last_event + 1,
            "checkpoints": len(images),
            "first_event": recording.first_event,
            "images": [
                {
                    "number": one.number,
                    "event": one.event,
                    "bytes": one.size_bytes,
                    "stop_ns": one.stop_ns,
                }
                for one in images
            ],
            "pid": recording.meta.get("pid"),
            "host": recording.meta.get("host"),
            "damage": recording.damage,
            "cautions": recording.cautions + ([] if glance else _never_completed(recording)),
        }
    except RdbError as error:
        return {
            "rank": recording.rank,
            "name": recording.name,
            "program": None,
            "argv": [],
            "state": _unreadable(error),
            "events": 0,
            "checkpoints": 0,
            "first_event": 0,
            "images": [],
            "pid": None,
            "host": None,
            "damage": error.message,
            "cautions": [],
        }


def _never_completed(recording: RankRecording) -> list[str]:
    """Cautions about requests that an MPI rank had started but not completed when it exited."""
    if not recording.state.startswith("exited") or recording.no_beginning is not None:
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
    processes = [_process_row(process) for process in job.processes()]
    _ends_without_log(job, processes)
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
                "bytes": _bytes(job),
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
    print(f"recorded  {_when(meta['created_ns'])}, launcher: {meta['launcher']}")
    print(f"kept in   {job.path} ({_size(_bytes(job))})")
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
                _command(row["argv"]),
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


def _ends_without_log(job: Job, processes: list[dict[str, Any]]) -> None:
    """Sets the state of ranks that other hosts killed: without a log only the board shows their
    end.
    """
    if not unrecorded(job):
        return
    slots = dict(enumerate(slots_of(job)))
    for row in processes:
        slot = slots.get(row["rank"])
        if slot is not None and slot.state is State.GONE:
            for one in (row, *row["programs"]):
                one["state"] = _KILLED if one["state"].startswith(_OPEN) else one["state"]


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


def _order_json(job: Job) -> dict[str, Any]:
    ranks, left = _order(job)
    if ranks:
        return {"record": "order", "expanded": not left}
    return {"record": "off" if unrecorded(job) else "full"}


def _order(job: Job) -> tuple[int, int]:
    """The number of ranks recorded with --record=order, and how many are not expanded."""
    try:
        return len(order_ranks(job)), len(unexpanded(job))
    except RdbError:  # the rank's own row reports the damage
        return 0, 0


def _print_images(programs: list[dict[str, Any]]) -> None:
    """Checkpoints, where a debugger can start at once; a rank with only the first has no rows."""
    rows = [
        (row["name"], str(image["number"]), str(image["event"]), _size(image["bytes"]))
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


def _command(argv: list[str]) -> str:
    """A command on one line, at most _COMMAND_CHARS long; JSON has all of it."""
    text = " ".join(shlex.join(argv).split())
    return text if len(text) <= _COMMAND_CHARS else text[: _COMMAND_CHARS - 3] + "..."


def rm_command(args: argparse.Namespace) -> int:
    # Find all names before the first job is removed.
    jobs = [find_job(name) for name in args.job]
    for job in jobs:
        for host, why in _remove(job).items():
            print(f"rdb: {host} may still have its part of {job.path}: {why}", file=sys.stderr)
        what = f"the unpacked copy of {job.name}" if job.packed else job.name
        print(f"rdb: removed {what}", file=sys.stderr)
    return 0


def _remove(job: Job) -> dict[str, str]:
    """Returns the hosts that may still have their part of it, with the reason."""
    if not (job.path / APART).exists() or job.packed:
        job.remove()
        return {}
    from rdb.agents.preparing import remove_everywhere  # late import: asyncio

    return remove_everywhere(job)


def _bytes(job: Job) -> int:
    """Space used on the disk: segments are preallocated, images sparse."""
    total = 0
    for path in job.path.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except OSError:  # a running job renames its files; some belong to others
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
