"""A job with a damaged log, cut where the damage begins, as if its process was killed there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdb.home import home
from rdb.recording import Job, RankRecording, open_job
from rdb.temporary import temporary


@contextmanager
def until_damage(job: Job) -> Iterator[tuple[Job, list[str]]]:
    """Yields the job, or, if logs are damaged, a temporary copy and a line for each loss.

    Readers find a log by its directory, so the copy is a directory: links, and logs that are cut.
    """
    damaged = [
        program
        for process in job.processes()
        for program in process.programs
        if program.damage is not None
    ]
    if not damaged:
        yield job, []
        return
    folder = temporary(home(), "until-damage")
    copy = folder / job.name
    try:
        _link(job.path, copy)
        lost = []
        for program in damaged:
            if program.last_event < 0:
                program.check()
        for program in damaged:
            last = _cut(program, copy / program.path.relative_to(job.path))
            lost.append(f"rank {program.name}: the events after {last} are lost: {program.damage}")
        yield open_job(copy), lost
    finally:
        if folder.exists():
            shutil.rmtree(folder)


def _link(source: Path, target: Path) -> None:
    target.mkdir(mode=0o700, parents=True)
    target.parent.chmod(0o700)
    for path in source.iterdir():
        if path.is_dir() and not path.is_symlink():
            _link(path, target / path.name)
            continue
        try:
            os.link(path, target / path.name, follow_symlinks=False)
        except OSError:  # a file system without links
            shutil.copy2(path, target / path.name, follow_symlinks=False)


def _cut(program: RankRecording, folder: Path) -> int:
    """Removes what follows the last whole record; returns the last event that remains."""
    segment, end = program.log_end
    last = folder / f"log-{segment:06}.seg"
    for path in folder.glob("log-*.seg"):
        if path.name > last.name:
            path.unlink()
    part = last.with_suffix(".cut")
    shutil.copyfile(last, part)
    part.chmod(0o600)
    os.truncate(part, end)
    part.replace(last)
    return RankRecording(folder, program.files_dir, program.name).last_event
