"""What a job without a log notes of its changes in files (interposer/answer/undo.h)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rdb.crc32c import crc32c
from rdb.errors import DamagedRecording
from rdb.live.files import attributes
from rdb.live.files.files_before import RENAMES, STAYED, TRUNCATE, Change, Was, note_of
from rdb.recording.log.record import Note

_RECORD = struct.Struct("<IIIHHIIQ")  # struct undo_record
_NOTE = struct.Struct("<II")  # struct undo_note
_MAGIC = 0x6F646E75
_CALL, _FAILED, _OWN, _UNSEEN = range(4)


class Own(NamedTuple):
    """A branch's own file got another name."""

    at_ns: int
    path: str
    place: str


class Unseen(NamedTuple):
    """A child process was made that rdb did not follow."""

    at_ns: int


def own_files(folder: Path) -> dict[str, str]:
    """The branch's own files at the beginning of the time of an `undo-N`: path -> place."""
    listed = lines(folder / "own")
    return dict(zip(listed[::2], listed[1::2], strict=True))


def lines(path: Path) -> list[str]:
    try:
        return os.fsdecode(path.read_bytes()).splitlines()
    except FileNotFoundError:  # none, or an older rdb took the checkpoint
        return []


def entries(folder: Path, rank: int) -> Iterator[Change | Own | Unseen]:
    """What the processes of RANK noted in an `undo-N`, one process after the other.

    DamagedRecording: a record is damaged.
    """
    for journal in sorted(folder.glob("journal-*")):
        yield from _read(journal, rank)


def _read(path: Path, rank: int) -> Iterator[Change | Own | Unseen]:
    data = path.read_bytes()
    at = 0
    found: dict[int, Change | Own | Unseen | None] = {}
    calls: dict[int, tuple[int, Change]] = {}
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
            found[at] = call = _change(path, body, rank, nr, flags, at_ns)
            calls[seq] = at, call
        elif kind == _FAILED and seq in calls:
            place, call = calls[seq]
            found[place] = _void(call)
        elif kind == _OWN:
            known, copy = (os.fsdecode(one) for one in body.split(b"\0")[:2])
            found[at] = Own(at_ns, known, copy)
        elif kind == _UNSEEN:
            found[at] = Unseen(at_ns)
        at += size
    return (one for one in found.values() if one is not None)


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


def _change(path: Path, body: bytes, rank: int, nr: int, flags: int, at_ns: int) -> Change:
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
    return Change(rank, 0, at_ns, nr, name, other, flags, size, before, noted)


def _kept(journal: Path, number: int) -> str:
    pid = journal.name.split("-", 1)[1]
    return str(journal.parent / f"before-{pid}-{number}")


def _void(one: Change) -> Change | None:
    """The call has failed: what it would have replaced is still there, and no name has moved."""
    if one.before is None:
        return None
    if one.before.was is Was.DIRECTORY:
        return one.with_nr(STAYED)
    return one.with_nr(TRUNCATE) if one.nr in RENAMES else one
