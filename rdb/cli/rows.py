"""Processes of a job as rows, for `rdb ls` and `rdb info`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable
from typing import Any

from rdb.coordinate.board import State
from rdb.coordinate.coordinated import slots_of, unrecorded
from rdb.errors import RdbError
from rdb.recording import Job, Process, RankRecording
from rdb.recording.checkpoints import read_images
from rdb.recording.state import DAMAGED, KILLED, ProcessState

Cautions = Callable[[RankRecording], Iterable[str]]

_COMMAND_CHARS = 72  # of a program's command line in a table


def process_row(
    process: Process, glance: bool = False, more: Cautions = lambda program: ()
) -> dict[str, Any]:
    """A process and the programs that it ran, as a row for tables and JSON.

    MORE: cautions beside those that the recording has. GLANCE: of the ends of its logs alone.
    """
    programs = [_program_row(one, glance, more) for one in process.programs]
    return {
        "process": process.name,
        **programs[-1],
        "events": sum(row["events"] for row in programs),
        "checkpoints": sum(row["checkpoints"] for row in programs),
        "damage": next((row["damage"] for row in programs if row["damage"]), None),
        "programs": programs,
    }


def _program_row(program: RankRecording, glance: bool, more: Cautions) -> dict[str, Any]:
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
            "cautions": [*recording.cautions, *more(recording)],
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


def _unreadable(error: RdbError) -> ProcessState:
    """`damaged`, or the reason without the path, which another column shows."""
    return DAMAGED if error.exit_code == 5 else ProcessState(error.message.rpartition(": ")[2])


def ends_without_log(job: Job, processes: list[dict[str, Any]]) -> None:
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
                if ProcessState(one["state"]).elsewhere:
                    one["state"] = KILLED


def command_text(argv: list[str]) -> str:
    """A command on one line, at most _COMMAND_CHARS long; JSON has all of it."""
    text = " ".join(shlex.join(argv).split())
    return text if len(text) <= _COMMAND_CHARS else text[: _COMMAND_CHARS - 3] + "..."


def disk_bytes(job: Job) -> int:
    """Space used on the disk: segments are preallocated, images sparse."""
    total = 0
    for path in job.path.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except OSError:  # a running job renames its files; some belong to others
            continue
    return total


def size_text(count: int) -> str:
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if value >= 10 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def time_text(created_ns: int) -> str:
    return (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(created_ns / 1e9)) if created_ns else "?"
    )
