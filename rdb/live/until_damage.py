"""A job of which a log is damaged, as far as that log goes: as if its process was killed there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdb.home import home
from rdb.recording import Job, RankRecording, open_job


@contextmanager
def until_damage(job: Job) -> Iterator[tuple[Job, list[str]]]:
    """The job itself where all logs are whole; else a copy that lasts as long, and what is lost.

    The readers of a log go by its directory, so the copy is one: links, and logs that are cut.
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
    copy = Path(home()) / f".until-damage-{os.getpid()}" / job.name
    try:
        _link(job.path, copy)
        lost = []
        for program in damaged:
            if program.last_event < 0:
                program.check()
        for program in damaged:
            last = _cut(program, copy / program.path.relative_to(job.path))
            lost.append(
                f"rank {program.name}: what was after event {last} is lost: {program.damage}"
            )
        yield open_job(copy), lost
    finally:
        shutil.rmtree(copy.parent)


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
    """Leaves out what comes after the last whole record.  Returns the last event that is left."""
    segment, end = program.log_end
    last = folder / f"log-{segment:06}.seg"
    for path in folder.glob("log-*.seg"):
        if path.name > last.name:
            path.unlink()
    temporary = last.with_suffix(".cut")
    shutil.copyfile(last, temporary)
    temporary.chmod(0o600)
    os.truncate(temporary, end)
    temporary.replace(last)
    return RankRecording(folder, program.files_dir, program.name).last_event
