"""Which processes of a job may not replay, and why: a line for each reason, not each mapping."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rdb.recording.processes import Process
from rdb.recording.ranges import format_processes
from rdb.recording.store import Job

# Of the reasons that a process has the strongest is said.  They are what callers of caution()
# (interposer/space/cautions.h) write, up to the colon.
_STRONGEST_FIRST = (
    "registered with an RDMA device",
    "is not known to rdb",
    "may be written by other ranks",
    "may be written by other processes",
)
_REASON = re.compile(r"event \d+: ([^:]*)")
_WHERE = re.compile(r" at 0x[0-9a-f]+-0x[0-9a-f]+")
_WRITES_TO = re.compile(r"it writes to the memory of process (\d+)")


def may_not_replay(job: Job) -> list[str]:
    """`0,0.8-0.11 may not replay: REASON`, for each that is the strongest of some process."""
    processes = list(job.processes())
    strongest: dict[str, str] = {}
    for process in processes:
        for reason in _reasons(process):
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
    """Without events and addresses, each once, in the order in which they were written."""
    matches = (_REASON.match(text) for one in process.programs for text in one.cautions)
    return dict.fromkeys(_WHERE.sub("", match[1]) for match in matches if match)


def _named(processes: Iterable[Process], writer: Process, pid: int) -> str | None:
    """The process of that number on the writer's host; None: it was not recorded."""
    host = writer.main.meta.get("host")
    for process in processes:
        meta = process.main.meta
        if (meta.get("pid"), meta.get("host")) == (pid, host):
            return process.name
    return None


def _place(reason: str) -> int:
    known = (n for n, words in enumerate(_STRONGEST_FIRST) if words in reason)
    return next(known, len(_STRONGEST_FIRST))
