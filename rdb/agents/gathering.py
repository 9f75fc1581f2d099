"""Checkpoints of a job without a log whose hosts share no disk: each has its own ranks' images.

Its ranks agreed that a checkpoint is one, and each host says so in a record of its own; one that
was lost in the middle of that may lack it, so any host's counts.  What is brought here lies as it
would if all ranks had run here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from rdb.agents.elsewhere import Elsewhere
from rdb.agents.fetching import File, fetch_files, listed
from rdb.coordinate.joining import APART, checkpoints_of
from rdb.errors import RdbError, UnknownJob
from rdb.launch.hosts import folded
from rdb.recording import Job, open_job
from rdb.recording.checkpoints import image_path
from rdb.recording.packing import image_base

_COMMIT = re.compile(r"commit-(\d+)\Z")


def is_apart(job: Job) -> bool:
    return (job.path / APART).exists()


def gather(job: Job, at: str | None = None, since: int | None = None) -> Job:
    """The job with the checkpoint AT, the newest one, or all SINCE that one, as far as hosts have
    what is not here yet."""
    if not is_apart(job):
        return job
    with Elsewhere(job, [str(one) for one in job.meta.get("hosts", ())]) as elsewhere:
        found = _Found(elsewhere, job)
        for number in found.chosen(at, since):
            found.bring(number)
    return open_job(job.path)


def checkpoints_elsewhere(job: Job, hosts: Collection[str]) -> list[int]:
    """Numbers of those that any host knows; what was prepared for a job without is taken back."""
    with Elsewhere(job, list(hosts)) as elsewhere:
        numbers = _Found(elsewhere, job).numbers
        if not numbers:
            for host in elsewhere.apart:
                elsewhere.call(elsewhere.agents.one(host, {"op": "discard"}))
        return numbers


class _Found:
    """What each host has of a job."""

    def __init__(self, elsewhere: Elsewhere, job: Job) -> None:
        self._elsewhere = elsewhere
        self._job = job.path
        self._nranks = int(job.meta.get("nranks") or 1)
        self._files: dict[str, list[File]] = {
            host: elsewhere.call(listed(elsewhere.agents, host)) for host in elsewhere.apart
        }
        self._names = {host: {one[0] for one in files} for host, files in self._files.items()}
        commits = (_COMMIT.match(name) for names in self._names.values() for name in names)
        there = {int(one[1]) for one in commits if one}
        self.numbers = sorted(there.union(checkpoints_of(str(self._job))))

    def chosen(self, at: str | None, since: int | None) -> list[int]:
        """In order; what no job has is refused where it is looked for."""
        if since is not None:
            return [number for number in self.numbers if number >= since]
        asked = {f"ckpt:{number}": number for number in self.numbers}
        if at is not None:
            return [asked[at]] if at in asked else []
        return self.numbers[-1:]

    def bring(self, number: int) -> None:
        """All of it, or an error that says whose part is missing; its record last."""
        holders = [self._holder(rank, number) for rank in range(self._nranks)]
        for rank, host in enumerate(holders):
            if host is not None:
                self._bring_rank(host, rank, number)
        if not (self._job / f"commit-{number}").exists():
            host = next(one for one, names in self._names.items() if f"commit-{number}" in names)
            self._fetch(host, {f"commit-{number}"})

    def _holder(self, rank: int, number: int) -> str | None:
        """The host that has that rank's part; None: it is here."""
        needed = {
            f"rank-{rank}/state-{number}",
            image_path(Path(f"rank-{rank}"), number).as_posix(),
        }
        for host, names in self._names.items():
            if needed <= names:
                return host
        if all((self._job / name).exists() for name in needed):
            return None
        gone = self._elsewhere.failed
        why = f"{folded(list(gone))} does not answer" if gone else "it is on none of its hosts"
        raise UnknownJob(
            f"checkpoint {number} of {self._job.name} lacks the image of rank {rank}: {why}",
            "wait for the host, or restart a pack that was made before",
        )

    def _bring_rank(self, host: str, rank: int, number: int) -> None:
        folder = Path(f"rank-{rank}")
        beside = re.compile(rf"rank-{rank}/(?:(?:state|was)-{number}(?:-\d+)?|log-\d+\.seg)\Z")
        image = image_path(folder, number).as_posix()
        stored = {name for name in self._names[host] if name.startswith("files/")}
        self._fetch(
            host, stored | {image} | {one for one in self._names[host] if beside.match(one)}
        )
        first = image_base(self._job / image)[0]
        older = {image_path(folder, one).as_posix() for one in range(first, number)}
        self._fetch(host, older & self._names[host])

    def _fetch(self, host: str, names: Collection[str]) -> None:
        files = [one for one in self._files[host] if one[0] in names]
        try:
            self._elsewhere.call(fetch_files(self._elsewhere.agents, host, files))
        except RdbError as error:
            raise RdbError(
                f"{host}: {error.message}",
                "it may have dropped that for a newer checkpoint: ask again",
            ) from error
