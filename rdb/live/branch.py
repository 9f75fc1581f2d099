"""Makes a branch: the job of a restart, with links to its parent's stored files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from rdb.errors import DamagedRecording, Unsupported
from rdb.launch.newjob import create_job
from rdb.launch.where import Where
from rdb.recording import Job
from rdb.undoing import on_failure

_BRANCH = re.compile(r"-branch-\d+\Z")


def make_branch(
    parent: Job,
    cut: Mapping[int, int],
    place: Where,
    name: str | None,
    in_place: bool,
    hosts: Sequence[str] = (),
    record: bool = True,
) -> str:
    """Makes the job of the branch and returns its directory; the parent stays as it is.

    DamagedRecording: the parent's stored files cannot be read. Unsupported: no copy can be made.
    """
    meta = parent.meta
    path = create_job(
        _BRANCH.sub("", parent.name) + "-branch",
        [str(word) for word in meta.get("argv", [])],
        place,
        name,
        {
            "job": parent.name,
            "path": str(parent.path),
            "cut": {str(rank): event for rank, event in cut.items()},
            "in_place": in_place,
        },
        hosts,
        record,
    )
    files = Path(path) / "files"
    with on_failure(lambda: shutil.rmtree(path)):
        for stored in _stored(parent.path / "files"):
            _link(stored, files / stored.name)
    return path


def _stored(files: Path) -> list[Path]:
    try:
        return list(files.iterdir())
    except OSError as error:
        raise DamagedRecording(f"{files}: {error.strerror}") from error


def _link(source: Path, target: Path) -> None:
    """Links, or else copies, SOURCE: stored files never change."""
    try:
        os.link(source, target)
    except OSError:
        try:
            shutil.copyfile(source, target)
            target.chmod(0o600)
        except OSError as error:
            raise Unsupported(f"cannot copy {source}: {error.strerror}") from error
