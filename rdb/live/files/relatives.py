"""What other branches have changed in real files.

A branch has copies of the files that the job had open at the cut or changed later; all others are
the real ones (docs/restart.md). So a restart has to undo what the jobs that began from the same job
have changed in real files since the cut.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rdb.coordinate.centre import is_apart
from rdb.coordinate.coordinated import committed, unrecorded
from rdb.coordinate.newest import family
from rdb.errors import RdbError
from rdb.live.files.files_before import (
    RENAMES,
    UNLINK,
    Change,
    Content,
    Was,
    changes_of,
    programs_of,
)
from rdb.live.files.journals import Own, Unseen, entries, own_files
from rdb.live.files.lives import of_same_files
from rdb.live.files.own_places import own_places
from rdb.recording import Job

_UNKNOWN = "not all that it changed in files is known, and some are as they are now"


def changed_by_others(
    job: Job, since_ns: int, own: Collection[str], left: list[str]
) -> list[Change]:
    """Changes of real files after SINCE_NS (CLOCK_REALTIME) by all relatives of JOB.

    Not those that went on with JOB's own files in place (lives.py). OWN: paths of files that JOB
    has copies of. LEFT gets a line for each relative of which not all is known.
    """
    found: list[Change] = []
    same = of_same_files(job.path)[0]
    for one in family(job):
        without_log = unrecorded(one)
        if is_apart(one.path) or (without_log and of_same_files(one.path)[0] == same):
            continue
        try:
            noted = _unrecorded(one, since_ns, left) if without_log else _recorded(one)
            changes = list(_of_real_files(noted, set(own_places(one.path))))
        except RdbError as error:
            left.append(f"{one.name} has gone on from the same job: {error.message}: {_UNKNOWN}")
            continue
        found += [
            each
            for each in changes
            if each.at_ns > since_ns
            and not any(_within(name, own) for name in (each.path, each.other) if name)
        ]
    return found


def _within(name: str, above: Collection[str]) -> bool:
    """Whether NAME, or a directory above it, is one of ABOVE."""
    return bool(above) and any(one in above for one in (name, *map(str, Path(name).parents)))


def _recorded(one: Job) -> list[Change]:
    found: list[Change] = []
    for rank in one.ranks:
        for program in programs_of(one.rank(rank)):
            found += changes_of(program, rank)
    # other copies than those that it began with are named by their places
    return [each for each in found if not _within(each.path, {str(one.path)})]


def _unrecorded(one: Job, since_ns: int, left: list[str]) -> list[Own | Change]:
    """It notes from its start on if it is a branch, else from its first checkpoint on."""
    of_all: list[Own | Change] = []
    folders = {rank: one.path / f"rank-{rank}" for rank in one.ranks}
    known = all((folder / "undo-0").is_dir() for folder in folders.values()) or any(
        taken.at_ns <= since_ns for taken in committed(one.path)
    )
    for rank, folder in folders.items():
        known &= not any(folder.glob("unnoted-*"))
        of_all += (Own(0, path, place) for path, place in own_files(folder / "undo-0").items())
        for about in sorted(folder.glob("undo-*")):
            for noted in entries(about, rank):
                if isinstance(noted, Unseen):
                    known = False
                else:
                    of_all.append(noted)
    if not known:
        left.append(f"{one.name} has gone on from the same job: {_UNKNOWN}")
    return of_all


def _of_real_files(of_all: Iterable[Own | Change], own: set[str]) -> Iterator[Change]:
    """OWN: the paths of the copies that the branch began with."""
    for one in sorted(of_all, key=lambda each: each.at_ns):
        if isinstance(one, Own):
            own.add(one.path)
        elif one.other and _within(one.other, own):
            own.add(one.path)  # its new name, too, is the branch's own
        elif not _within(one.path, own):
            yield one
        elif one.nr in RENAMES:  # a real file has become the branch's own
            gone = Content(Was.LOST, event=None, rank=one.rank)
            yield replace(one, nr=UNLINK, path=one.other, other="", before=gone, noted=None)
