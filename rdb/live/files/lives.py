"""Jobs that went on with the files of an earlier one (`rdb restart --in-place`, without a log).

Such jobs have one set of files. The earlier job has a list of those that began from it: each line
is the number of the checkpoint, and the directory of the branch, or `-` if the branch has changed
nothing. The last line counts: at its beginning the files were rolled back to that checkpoint.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from rdb.errors import Unsupported
from rdb.private import opener
from rdb.recording import open_job

_LIST = "went-on"
_NOTHING = "-"


class Began(NamedTuple):
    number: int
    path: Path | None
    """None: it has changed nothing."""


def went_on(job: Path) -> Began | None:
    """The newest job that went on with the files of JOB."""
    try:
        lines = (job / _LIST).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return None
    number, path = lines[-1].split(" ", 1)
    return Began(int(number), None if path == _NOTHING else Path(path))


def note(job: Path, number: int, branch: str | None) -> None:
    """BRANCH goes on with the files of JOB, as they were at checkpoint NUMBER; None: it has not
    changed them.
    """
    with open(job / _LIST, "a", encoding="utf-8", opener=opener) as file:
        file.write(f"{number} {branch or _NOTHING}\n")
        file.flush()
        os.fsync(file.fileno())


def _above(job: Path) -> Path | None:
    """The job with whose files JOB went on, if it is still there."""
    parent = open_job(str(job)).meta.get("parent")
    if not parent or not parent.get("in_place"):
        return None
    above = Path(parent["path"])
    return above if above.is_dir() else None


def of_same_files(job: Path) -> list[Path]:
    """All jobs, from the earliest on, that went on with the same files."""
    found, above = [job], _above(job)
    while above is not None:
        found.insert(0, above)
        above = _above(above)
    newest = went_on(job)
    while newest is not None and newest.path is not None and newest.path.is_dir():
        found.append(newest.path)
        newest = went_on(newest.path)
    return found


def check_is_newest(job: Path) -> None:
    """Unsupported: the files of JOB, or of the job that it began from, have been rolled back for
    another one.
    """
    here = job
    while (above := _above(here)) is not None:
        newest = went_on(above)
        if newest is not None and newest.path != here:
            name = newest.path.name if newest.path else "another restart"
            raise Unsupported(
                f"{job.name} went on with the files of {above.name}, which have been rolled back "
                f"to checkpoint {newest.number} since, for {name}",
                f"restart {name}" if newest.path else f"restart {above.name}",
            )
        here = above


def check_reaches(job: Path, number: int) -> Began | None:
    """The job that went on with JOB's files, if any.

    Unsupported: what the files were at checkpoint NUMBER is not known any more.
    """
    newest = went_on(job)
    if newest is None:
        return None
    name = newest.path.name if newest.path else "a restart"
    if newest.number < number:
        raise Unsupported(
            f"the files of {job.name} have been rolled back in place to checkpoint "
            f"{newest.number}, for {name}: what they were at checkpoint {number} is not known any "
            "more",
            f"restart {name}" if newest.path else f"use --at ckpt:{newest.number}",
        )
    path = newest.path
    if path is None:
        return newest
    begun = [one.parent for one in path.glob("rank-*/log-000000.seg")]
    if not path.is_dir() or not all((one / "undo-0").is_dir() for one in begun):
        raise Unsupported(
            f"{name} went on with the files of {job.name}, and what it has changed in them since "
            "its start is not known any more",
            f"restart {name}",
        )
    return newest
