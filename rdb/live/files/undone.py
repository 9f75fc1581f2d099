"""What a restart from a checkpoint has to undo in files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rdb.coordinate.coordinated import Together
from rdb.live.files.files_before import Change, Content, Names, Was
from rdb.live.files.journals import Own, entries, lines, own_files
from rdb.live.files.later_files import (
    LaterFiles,
    has_name,
    say_all,
    say_linked,
    sort_out,
    write_later,
)
from rdb.live.files.lives import check_is_newest, check_reaches
from rdb.live.files.relatives import changed_by_others
from rdb.recording import Job


@dataclass(slots=True)
class Undone:
    later: LaterFiles
    open: dict[str, Content] = field(default_factory=dict)
    """Files that were open for writing at the checkpoint."""
    mpi: set[str] = field(default_factory=set)
    """Files of MPI that were open for writing: their ranks make the copies."""
    touched: set[str] = field(default_factory=set)
    """All names that the job or another branch has changed since."""


def undone(job: Job, one: Together) -> Undone:
    """What a restart from checkpoint ONE has to undo.

    DamagedRecording: a record of it is damaged. Unsupported: the files have been rolled back since.
    """
    check_is_newest(job.path)
    found = Undone(LaterFiles())
    names = Names(found.later.sources, follows=True)
    for rank in range(one.nranks):
        folder = job.path / f"rank-{rank}"
        found.later.sources.update(own_files(folder / f"undo-{one.number}"))
        found.open.update(_open(folder, one.number))
        found.mpi.update(lines(folder / f"undo-{one.number}" / "mpi-written"))
    changes = _since(job.path, one.number, one.nranks, found.later)
    changes += changed_by_others(job, one.at_ns, found.later.sources, found.later.left)
    for change in changes:
        has_name(names, change)
        found.touched.update((change.path, change.other))
    for path, content in names.before(changes).items():
        if path in names.attributes:
            found.later.attributes[path] = names.attributes[path]
        if path not in found.open and path not in found.mpi:
            sort_out(found.later, path, content)
    say_all(found.later, names)
    for path in (*found.open, *found.mpi):  # as it began with it, if it is a branch
        found.later.copies.pop(path, None)
        found.later.shown.discard(path)
        with suppress(OSError):
            more = os.stat(found.later.sources.get(path, path)).st_nlink - 1
            if more > 0:
                say_linked(found.later, path, more)
    return found


def go_on_with_copies(found: Undone, branch: str, nranks: int) -> None:
    """Makes the branch's copies.  A file that a rank has open is a copy that all ranks see."""
    if nranks > 1:
        found.later.open.update(found.open)
    write_later(found.later, branch, {path: _mpi_place(branch, path) for path in found.mpi})


def _mpi_place(branch: str, path: str) -> Path:
    """As in interposer/mpi/lower/checkpoint/coordinated_files_state.c."""
    name = 0xCBF29CE484222325  # FNV-1a
    for byte in os.fsencode(path):
        name = (name ^ byte) * 0x100000001B3 % (1 << 64)
    return Path(branch) / "mpi-files" / f"{name:016x}-{Path(path).name[:200]}"


def _since(job: Path, number: int, nranks: int, plan: LaterFiles) -> list[Change]:
    """All changes since checkpoint NUMBER, also by jobs that went on with the same files."""
    after = check_reaches(job, number)
    changes: list[Change] = []
    for rank in range(nranks):
        folder, until = job / f"rank-{rank}", after.number if after else None
        for one in _about(folder, "undo", number, until):
            for noted in entries(one, rank):
                if isinstance(noted, Change):
                    changes.append(noted)
                elif isinstance(noted, Own):
                    plan.sources[noted.path] = noted.place
                else:
                    plan.left.append(
                        f"rank {rank} has made a child process since that rdb did not follow "
                        "(--no-children): what it changed in files is not undone"
                    )
        if any(_about(folder, "unnoted", number, until)):
            plan.left.append(
                f"rank {rank} could not note all that it changed in files since: some are as they "
                "are now"
            )
    if after is not None and after.path is not None:
        later = _since(after.path, 0, nranks, plan)
        # clocks may have been set between two lives, or be another host's
        gap = max((one.at_ns for one in changes), default=0) + 1
        gap = max(0, gap - min((one.at_ns for one in later), default=gap))
        changes += [one.with_time(one.at_ns + gap) for one in later]
    return changes


def _about(folder: Path, what: str, number: int, until: int | None) -> Iterator[Path]:
    """Entries WHAT-N about the time after checkpoint NUMBER, and before checkpoint UNTIL."""
    for below in folder.glob(f"{what}-*"):
        about = below.name.removeprefix(f"{what}-")
        if about.isdigit() and number <= int(about) and (until is None or int(about) < until):
            yield below


def _open(folder: Path, number: int) -> Iterator[tuple[str, Content]]:
    for line in lines(folder / f"undo-{number}" / "written"):
        which, size, mode, path = line.split(" ", 3)
        place = str(folder / f"was-{number}-{which}")
        yield path, Content(Was.KEPT, place, int(size), int(mode, 8))
