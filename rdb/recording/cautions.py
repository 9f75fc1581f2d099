"""Warnings about a job: processes that may not replay, and calls that cannot be recorded.

One line for each reason, not for each mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rdb.recording.processes import Process
from rdb.recording.ranges import format_processes
from rdb.recording.store import Job

# Of all reasons of a process only the strongest is shown.  The texts are those that callers of
# caution() (interposer/space/cautions.h) write, up to the colon.
_STRONGEST_FIRST = (
    "registered with an RDMA device",
    "is not known to rdb",
    "may be written by other ranks",
    "may be written by processes outside this rank",
    "may be written by other processes",
)
_REASON = re.compile(r"event \d+: ([^:]*)")
_REFUSED = re.compile(r"([\w ]+) cannot be recorded")
_WHERE = re.compile(r" at 0x[0-9a-f]+-0x[0-9a-f]+")
_WRITES_TO = re.compile(r"(?:it|the program) writes to the memory of process (\d+)")


def what_to_know(job: Job) -> list[str]:
    """`0,0.8-0.11 may not replay: REASON`, `0: io_setup, ptrace cannot be recorded`."""
    return [*_may_not_replay(job), *_cannot_be_recorded(job)]


def _cannot_be_recorded(job: Job) -> list[str]:
    groups: dict[str, list[str]] = {}
    for process in job.processes():
        calls = sorted(match[1] for match in map(_REFUSED.match, _reasons(process)) if match)
        if calls:
            groups.setdefault(", ".join(calls), []).append(process.name)
    return [
        f"{format_processes(names)}: {calls} cannot be recorded" for calls, names in groups.items()
    ]


def _may_not_replay(job: Job) -> list[str]:
    """One line for each reason that is the strongest one of a process."""
    processes = list(job.processes())
    strongest: dict[str, str] = {}
    for process in processes:
        for reason in _reasons(process):
            if _REFUSED.match(reason):
                continue  # the replay does what the recording did
            name: str | None = process.name
            writes_to = _WRITES_TO.match(reason)
            if writes_to:
                name = _named(processes, process, int(writes_to[1]))
                reason = f"process {process.name} writes to its memory"
            if name is not None:
                strongest[name] = min(strongest.get(name, reason), reason, key=_place)
    groups: dict[str, list[str]] = {}
    for name, reason in strongest.items():
        groups.setdefault(reason, []).append(name)
    return [
        f"{format_processes(names)} may not replay: {reason}" for reason, names in groups.items()
    ]


def _reasons(process: Process) -> Iterable[str]:
    """The process's cautions without events and addresses, each once, in the order of the log."""
    matches = (_REASON.match(text) for one in process.programs for text in one.cautions)
    return dict.fromkeys(_WHERE.sub("", match[1]) for match in matches if match)


def _named(processes: Iterable[Process], writer: Process, pid: int) -> str | None:
    """Name of the process with this pid on the writer's host; None: it was not recorded."""
    host = writer.main.meta.get("host")
    for process in processes:
        meta = process.main.meta
        if (meta.get("pid"), meta.get("host")) == (pid, host):
            return process.name
    return None


def _place(reason: str) -> int:
    known = (n for n, words in enumerate(_STRONGEST_FIRST) if words in reason)
    return next(known, len(_STRONGEST_FIRST))
