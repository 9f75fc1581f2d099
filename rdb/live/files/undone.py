"""What a job without a log has changed in files after a checkpoint (interposer/answer/undo.h)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rdb.crc32c import crc32c
from rdb.errors import DamagedRecording
from rdb.live.files import attributes
from rdb.live.files.files_before import STAYED, Change, Content, Names, Was, note_of
from rdb.live.files.later_files import (
    LaterFiles,
    has_name,
    say_all,
    say_linked,
    sort_out,
    write_later,
)
from rdb.live.files.lives import check_is_newest, check_reaches
from rdb.recording.log.record import Note

_RECORD = struct.Struct("<IIIHHIIQ")  # struct undo_record
_NOTE = struct.Struct("<II")  # struct undo_note
_MAGIC = 0x6F646E75
_CALL, _FAILED, _OWN, _UNSEEN = range(4)
_TRUNCATE, _RENAMES = 76, (82, 264, 316)


@dataclass(slots=True)
class Undone:
    later: LaterFiles
    open: dict[str, Content] = field(default_factory=dict)
    """Files that were open for writing at the checkpoint."""
    mpi: set[str] = field(default_factory=set)
    """Files of MPI that were open for writing: their ranks make the copies."""
    touched: set[str] = field(default_factory=set)
    """All names that the job has changed since."""


def undone(job: Path, number: int, nranks: int) -> Undone:
    """What a restart from checkpoint NUMBER has to undo.

    DamagedRecording: a record of it is damaged. Unsupported: the files have been rolled back since.
    """
    check_is_newest(job)
    found = Undone(LaterFiles())
    names = Names(found.later.sources, follows=True)
    for rank in range(nranks):
        folder = job / f"rank-{rank}"
        found.later.sources.update(_own(folder / f"undo-{number}" / "own"))
        found.open.update(_open(folder, number))
        found.mpi.update(_lines(folder / f"undo-{number}" / "mpi-written"))
    changes = _since(job, number, nranks, found.later)
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
            for journal in sorted(one.glob("journal-*")):
                changes += _read(journal, rank, plan)
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


def _lines(path: Path) -> list[str]:
    try:
        return os.fsdecode(path.read_bytes()).splitlines()
    except FileNotFoundError:  # none, or an older rdb took the checkpoint
        return []


def _own(path: Path) -> dict[str, str]:
    lines = _lines(path)
    return dict(zip(lines[::2], lines[1::2], strict=True))


def _open(folder: Path, number: int) -> Iterator[tuple[str, Content]]:
    for line in _lines(folder / f"undo-{number}" / "written"):
        which, size, mode, path = line.split(" ", 3)
        place = str(folder / f"was-{number}-{which}")
        yield path, Content(Was.KEPT, place, int(size), int(mode, 8))


def _read(path: Path, rank: int, plan: LaterFiles) -> list[Change]:
    data = path.read_bytes()
    at = 0
    calls: dict[int, list[Change]] = {}
    done: list[list[Change]] = []
    while len(data) - at >= _RECORD.size:
        magic, size, check, kind, nr, seq, flags, at_ns = _RECORD.unpack_from(data, at)
        if magic != _MAGIC or size < _RECORD.size:
            raise _damaged(path, at)
        if size > len(data) - at:
            break  # its process was killed
        record = data[at : at + size]
        if crc32c(0, record[:8] + bytes(4) + record[12:]) != check:
            raise _damaged(path, at)
        body = record[_RECORD.size :]
        if kind == _CALL:
            calls[seq] = _change(path, body, rank, nr, flags, at_ns)
            done.append(calls[seq])
        elif kind == _FAILED and seq in calls:
            _void(calls[seq])
        elif kind == _OWN:
            known, place = (os.fsdecode(one) for one in body.split(b"\0")[:2])
            plan.sources[known] = place
        elif kind == _UNSEEN:
            plan.left.append(
                f"rank {rank} has made a child process since that rdb did not follow "
                "(--no-children): what it changed in files is not undone"
            )
        at += size
    return [one for each in done for one in each]


def _damaged(path: Path, at: int) -> DamagedRecording:
    return DamagedRecording(
        f"{path}: offset {at}: expected a record of what the job changed in files",
        "choose a later checkpoint",
    )


def _notes(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(body):
        note, size = _NOTE.unpack_from(body, at)
        at += _NOTE.size
        yield note, body[at : at + size]
        at += (size + 7) & ~7


def _change(path: Path, body: bytes, rank: int, nr: int, flags: int, at_ns: int) -> list[Change]:
    name = other = ""
    before = noted = None
    size = 0
    for note, data in _notes(body):
        if note == Note.WAS:
            name, other, before = note_of(data, nr, rank, None, partial(_kept, path))
        elif note == Note.OPENED:
            size, name = int.from_bytes(data[:8], "little"), os.fsdecode(data[8:])
        elif note == Note.ATTRIBUTES:
            noted = attributes.read(data)
    name = name or (noted.path if noted else "")
    return [Change(rank, 0, at_ns, nr, name, other, flags, size, before, noted)]


def _kept(journal: Path, number: int) -> str:
    pid = journal.name.split("-", 1)[1]
    return str(journal.parent / f"before-{pid}-{number}")


def _void(call: list[Change]) -> None:
    """The call has failed: what it would have replaced is still there, and no name has moved."""
    (one,) = call
    if one.before is None:
        call.clear()
    elif one.before.was is Was.DIRECTORY:
        call[:] = [one.with_nr(STAYED)]
    elif one.nr in _RENAMES:
        call[:] = [one.with_nr(_TRUNCATE)]
