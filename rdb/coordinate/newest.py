"""The lives of a job without a log: the job, and all that went on from its checkpoints."""

from __future__ import annotations

from rdb.coordinate.coordinated import alive, committed, unrecorded
from rdb.recording import Job
from rdb.recording.store import list_jobs


def lives(job: Job, in_place: bool = False) -> list[Job]:
    """JOB and the jobs without a log that began from it or from one of these, newest first.

    IN_PLACE: only those that went on with the same files.
    """
    path = str(job.path.resolve())
    parents = {str(one.path.resolve()): (one, _parent(one, in_place)) for one in list_jobs()}
    found = [one for at, (one, _) in parents.items() if at != path and _leads_to(path, at, parents)]
    found = [one for one in found if unrecorded(one)]
    return [*sorted(found, key=lambda one: _made_ns(one), reverse=True), job]


def _leads_to(path: str, at: str | None, parents: dict[str, tuple[Job, str | None]]) -> bool:
    while at is not None and at != path:
        at = parents[at][1] if at in parents else None
    return at is not None


def _parent(job: Job, in_place: bool) -> str | None:
    parent = job.meta.get("parent")
    if not parent or (in_place and not parent.get("in_place")):
        return None
    return str(parent["path"])


def _made_ns(job: Job) -> int:
    return int(job.meta.get("created_ns", 0))


def newest_with_checkpoint(job: Job, in_place: bool) -> Job:
    """The newest life that has a finished checkpoint; JOB itself if there is none."""
    return next((one for one in lives(job, in_place) if committed(one.path)), job)


def newest_alive(job: Job) -> Job:
    """The newest life that runs; JOB itself if none does."""
    return next((one for one in lives(job) if alive(one)), job)
