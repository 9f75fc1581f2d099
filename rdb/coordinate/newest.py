"""Which jobs went on from which: the lives of a job without a log, and all branches of a job."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from rdb.coordinate.coordinated import alive, committed, unrecorded
from rdb.errors import RdbError
from rdb.recording import Job
from rdb.recording.store import list_jobs


def lives(job: Job, in_place: bool = False) -> list[Job]:
    """JOB and the jobs without a log that began from it or from one of these, newest first.

    IN_PLACE: only those that went on with the same files.
    """
    path, jobs = os.path.realpath(job.path), _jobs()
    parents = _parents(jobs, in_place)
    found = [one for at, one in jobs.items() if at != path and path in _line(at, parents)]
    found = [one for one in found if unrecorded(one)]
    return [*sorted(found, key=lambda one: _made_ns(one), reverse=True), job]


def family(job: Job) -> list[Job]:
    """The other jobs in the store that began from the same job as JOB, and that one."""
    path, jobs = os.path.realpath(job.path), _jobs()
    parents = _parents(jobs, in_place=False)
    first = _line(path, parents)[-1]
    return [one for at, one in jobs.items() if at != path and _line(at, parents)[-1] == first]


def _line(at: str, parents: Mapping[str, str]) -> list[str]:
    """The job in directory AT, the one that it is a branch of, and so on."""
    line = [at]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    return line


def _jobs() -> dict[str, Job]:
    """The jobs of the store that can be read, by directory."""
    found = {}
    for one in list_jobs():
        with suppress(RdbError, OSError):  # another user's, another version's, or just removed
            if one.meta:
                found[os.path.realpath(one.path)] = one
    return found


def _parents(jobs: Mapping[str, Job], in_place: bool) -> dict[str, str]:
    """Directory of each branch -> that of the job which it is a branch of."""
    told = {at: one.meta.get("parent") or {} for at, one in jobs.items()}
    return {
        at: os.path.realpath(one["path"])
        for at, one in told.items()
        if one and (one.get("in_place") or not in_place)
    }


def _made_ns(job: Job) -> int:
    return int(job.meta.get("created_ns", 0))


def newest_with_checkpoint(job: Job, in_place: bool) -> Job:
    """The newest life that has a finished checkpoint; JOB itself if there is none."""
    return next((one for one in lives(job, in_place) if committed(one.path)), job)


def newest_alive(job: Job) -> Job:
    """The newest life that runs; JOB itself if none does."""
    return next((one for one in lives(job) if alive(one)), job)
