"""A pack of a job without a log: its finished checkpoints.  The job may be running."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdb.coordinate.coordinated import Together, check_whole, choose, committed, damaged_commits
from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.recording import Job
from rdb.recording.checkpoints import image_path
from rdb.recording.packing import Packed, image_base, write_pack
from rdb.temporary import temporary

_OF_ONE = re.compile(r"(?:state|was)-(\d+)(?:-\d+)?\Z")


def pack_checkpoints(job: Job, out: Path, since: int | None = None) -> Packed:
    """Packs the checkpoints from number SINCE on (default: all); the job may go on meanwhile."""
    choose(job, None)  # raises if there is none
    asked = [one for one in committed(job.path) if since is None or one.number >= since]
    if not asked:
        raise UnknownJob(f"{job.name} has no checkpoint {since} or later", f"rdb info {job.name}")
    chosen, lost = _whole(job, asked)
    ranks = [job.rank(rank) for rank in range(chosen[0].nranks)]
    with _held(job.path, _parts(job.path, chosen)) as parts:
        count = write_pack(out, job, ranks, parts)
    return Packed(out, list(range(len(ranks))), count, out.stat().st_size, lost)


def _whole(job: Job, asked: list[Together]) -> tuple[list[Together], list[str]]:
    """The undamaged checkpoints, and a line for each damaged one.

    DamagedRecording: all are damaged.
    """
    whole, damaged = [], []
    for one in asked:
        try:
            check_whole(job, one)
        except DamagedRecording as error:
            damaged.append((one.number, error))
        else:
            whole.append(one)
    if not whole:
        raise damaged[-1][1]
    left = [f"checkpoint {number} is left out: {why.message}" for number, why in damaged]
    return whole, damaged_commits(job) + left


def _parts(job: Path, chosen: list[Together]) -> list[Path]:
    numbers = {one.number for one in chosen}
    parts = [job / f"commit-{number}" for number in sorted(numbers)]
    for rank in range(chosen[0].nranks):
        folder = job / f"rank-{rank}"
        needed = set(numbers)
        for number in numbers:
            needed |= set(range(image_base(image_path(folder, number))[0], number))
        parts += [folder / "log-000000.seg"]
        parts += [path for path in (image_path(folder, n) for n in sorted(needed)) if path.exists()]
        for path in sorted(folder.iterdir()):
            of = _OF_ONE.match(path.name)
            if of and int(of[1]) in numbers:
                parts.append(path)
    return parts


@contextmanager
def _held(job: Path, parts: list[Path]) -> Iterator[list[tuple[str, Path]]]:
    """Links the files into a folder of their own, as a running job deletes its oldest checkpoints.

    Yields each file's name in the job's directory and the path of its link.
    """
    folder = temporary(job, "pack")
    folder.mkdir(mode=0o700)
    try:
        held = []
        for number, path in enumerate(parts):
            link = folder / str(number)
            try:
                os.link(path, link)
            except FileNotFoundError:
                raise RdbError(
                    f"the job dropped {path} for a newer checkpoint while rdb packed it",
                    "run rdb pack again, or run the job with a larger --keep",
                ) from None
            except OSError:  # a file system without links
                link = path
            held.append((str(path.relative_to(job)), link))
        yield held
    finally:
        shutil.rmtree(folder)
