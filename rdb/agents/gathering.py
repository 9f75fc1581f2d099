"""Checkpoints of a job without a log whose hosts share no disk: each has its own ranks' images.

All ranks agree on a checkpoint, then each host records that in a `commit-N` file. A host that was
lost in between may lack its `commit-N`, so one host's file is enough. The files copied here lie as
if all ranks had run on this host.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from rdb.agents.elsewhere import Elsewhere
from rdb.agents.fetching import File, fetch_files, listed
from rdb.coordinate.centre import checkpoints_of, is_apart
from rdb.errors import RdbError, UnknownJob
from rdb.launch.hosts import folded
from rdb.recording import Job, open_job
from rdb.recording.checkpoints import image_path
from rdb.recording.packing import image_base

_COMMIT = re.compile(r"commit-(\d+)\Z")


def gather(job: Job, at: str | None = None, since: int | None = None) -> Job:
    """Copies checkpoints that are not on this host yet, and returns the job opened again.

    AT (`ckpt:N`) chooses one checkpoint, SINCE all from that number; default: the newest one.
    """
    if not is_apart(job.path):
        return job
    with Elsewhere(job, [str(one) for one in job.meta.get("hosts", ())]) as elsewhere:
        found = _Found(elsewhere, job)
        for number in found.chosen(at, since):
            found.bring(number)
    return open_job(job.path)


def checkpoints_elsewhere(job: Job, hosts: Collection[str]) -> list[int]:
    """Numbers of the checkpoints that any host knows.

    If there are none, the directories that were prepared on HOSTS are removed.
    """
    with Elsewhere(job, list(hosts)) as elsewhere:
        numbers = _Found(elsewhere, job).numbers
        if not numbers:
            for host in elsewhere.apart:
                elsewhere.call(elsewhere.agents.one(host, {"op": "discard"}))
        return numbers


class _Found:
    """The files of the job on each host."""

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
        """The chosen numbers, in order; empty for an AT that is unknown (the caller's search
        refuses it).
        """
        if since is not None:
            return [number for number in self.numbers if number >= since]
        asked = {f"ckpt:{number}": number for number in self.numbers}
        if at is not None:
            return [asked[at]] if at in asked else []
        return self.numbers[-1:]

    def bring(self, number: int) -> None:
        """Copies checkpoint NUMBER, its `commit-N` file last; UnknownJob names a missing part."""
        holders = [self._holder(rank, number) for rank in range(self._nranks)]
        for rank, host in enumerate(holders):
            if host is not None:
                self._bring_rank(host, rank, number)
        if not (self._job / f"commit-{number}").exists():
            host = next(one for one, names in self._names.items() if f"commit-{number}" in names)
            self._fetch(host, {f"commit-{number}"})

    def _holder(self, rank: int, number: int) -> str | None:
        """The host that has RANK's part of checkpoint NUMBER; None: this host has it."""
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
        why = "no host of the job has it"
        hint = "restart another checkpoint (--at ckpt:N) or a pack"
        if gone:
            why = f"{folded(list(gone))} does not answer"
            hint = "try again when the host answers, or restart an earlier pack of the job"
        raise UnknownJob(
            f"checkpoint {number} of {self._job.name} lacks the image of rank {rank}: {why}", hint
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
                "the job may have removed this checkpoint for a newer one: try again",
            ) from error
