"""Ordinary files that the recorded job wrote to after the cut: the branch is not to find that.

The log has of each file that was opened for writing where it is and how much was in it.  Of a file
that the job only appended to after the cut the present one begins with what was in it then: the
branch has a copy of that, which it opens instead.  Others are named.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rdb.private import make_directory, opener
from rdb.recording import Job, RankRecording
from rdb.recording.record import Note

_OPEN, _OPENAT, _CREAT = 2, 257, 85
_NOT_FOLLOWED = (40, 275, 276, 285, 326, 327, 328)  # sendfile and its kin, fallocate
_FOLDER, _LIST = "later", "later-files"
_OWN = re.compile(r"/rank-\d+/file-\d+-[^/]*$")  # a branch's, which its rank follows
_SIZE_BYTES = 8  # struct rdb_note_opened
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Opened:
    """A file, for writing."""

    rank: int
    event: int
    at_ns: int
    path: str
    size_bytes: int
    flags: int

    @property
    def appends(self) -> bool:
        return bool(self.flags & os.O_APPEND) and not self.flags & os.O_TRUNC


@dataclass(slots=True)
class LaterFiles:
    copies: dict[str, int | None] = field(default_factory=dict)
    """Path -> so many of its bytes are the branch's; None: it was not there."""
    left: list[str] = field(default_factory=list)
    """What is to be said of others."""
    sources: dict[str, str] = field(default_factory=dict)
    """Path -> where the job, a branch itself, has its own copy."""
    users: dict[str, set[int]] = field(default_factory=dict)
    """Ranks that open a file for writing."""
    real: set[str] = field(default_factory=set)
    """Of several ranks, and without a copy: no rank has one of its own."""

    def lines(self) -> list[str]:
        return [
            f"file {path}: "
            + ("not there" if size is None else f"{size} bytes, as it was at the cut")
            for path, size in sorted(self.copies.items())
        ]


def later_files(job: Job, events: Mapping[int, int], alone: bool = True) -> LaterFiles:
    """ALONE: the ranks have no child processes, which might write, too."""
    found: dict[str, list[Opened]] = defaultdict(list)
    plan = LaterFiles(sources=_places(job.path))
    paths = {place: path for path, place in plan.sources.items()}
    for rank in events:
        for one in _opened(job.rank(rank), rank):
            if not _OWN.search(one.path):
                found[paths.get(one.path, one.path)].append(one)
    for path, opened in found.items():
        plan.users[path] = {one.rank for one in opened}
        later = sorted(
            (one for one in opened if one.event > events[one.rank]), key=lambda one: one.at_ns
        )
        known = not later or later[0].flags & os.O_TRUNC
        if not known and not (alone and _followed(job, path, opened, events)):
            _sort_out(plan, path, opened, later)
        if len(plan.users[path]) > 1:
            plan.real.add(path)
    for path, place in plan.sources.items():
        if path not in plan.copies and not any(line.startswith(f"{path}: ") for line in plan.left):
            there = Path(place)
            plan.copies[path] = there.stat().st_size if there.exists() else None
    plan.real.difference_update(plan.copies)
    return plan


def _followed(job: Job, path: str, opened: list[Opened], events: Mapping[int, int]) -> bool:
    """One rank has all that is in it at the cut, on its way there (interposer/live/own_files.h)."""
    rank = opened[0].rank
    before = [one for one in opened if one.event <= events[one.rank]]
    if any(one.rank != rank for one in opened) or not before:
        return False
    known = any(not one.size_bytes or one.flags & (os.O_TRUNC | os.O_EXCL) for one in before)
    index = job.rank(rank).index
    return known and not any(
        index.brief(place)[1] <= events[rank] for place in index.of_calls(*_NOT_FOLLOWED)
    )


def lacks_files(recording: RankRecording, image: int, cut: int) -> bool:
    """A replay from an image at that event does not know what the program had left in a file that
    is not any more as it was at the cut."""
    opened = _opened(recording, recording.rank)
    later = {one.path for one in opened if one.event > cut}
    return any(
        one.event <= image and (one.path in later or not os.path.exists(one.path)) for one in opened
    )


def _places(job: Path) -> dict[str, str]:
    try:
        lines = os.fsdecode((job / _LIST).read_bytes()).splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.split("\t", 1) for line in lines if line)
    return {path: place for place, path in pairs if Path(place).parent.name == _FOLDER}


def _sort_out(plan: LaterFiles, path: str, opened: list[Opened], later: list[Opened]) -> None:
    first = later[0]
    shared = len({one.rank for one in opened}) > 1
    if not shared and first.flags & os.O_EXCL:
        plan.copies[path] = None
    elif not shared and (not first.size_bytes or all(one.appends for one in later)):
        try:
            there = os.stat(plan.sources.get(path, path)).st_size
        except OSError:
            there = 0
        if there >= first.size_bytes:
            plan.copies[path] = first.size_bytes
            return
        plan.left.append(f"{path}: what was in it at the cut is gone")
    else:
        who = "several ranks wrote" if shared else f"rank {first.rank} wrote"
        plan.left.append(
            f"{path}: {who} to it after the cut (event {first.event}), and what was in it before "
            "is not known: the branch finds what is now"
        )


def _opened(recording: RankRecording, rank: int) -> list[Opened]:
    found = []
    index = recording.index
    for place in index.of_calls(_OPEN, _OPENAT, _CREAT):
        record = index.record(place)
        for chunk in record.chunks if record.result >= 0 else []:
            if chunk.addr or chunk.note != Note.OPENED or len(chunk.data) <= _SIZE_BYTES:
                continue
            size = int.from_bytes(chunk.data[:_SIZE_BYTES], "little")
            path = bytes(chunk.data[_SIZE_BYTES:]).decode(errors="surrogateescape")
            flags = os.O_CREAT | os.O_TRUNC
            if record.nr != _CREAT:
                flags = record.args[1 if record.nr == _OPEN else 2]
            if "\n" not in path and "\t" not in path:
                found.append(Opened(rank, record.event, record.at_ns, path, size, flags))
    return found


def write_later(plan: LaterFiles, branch: str, moved: Mapping[str, Path]) -> dict[str, Path]:
    """The copies, and the list for the ranks (interposer/live/written_copies.c), in which a file
    without a place is the real one for all of them; MOVED: files of MPI that are copies of the
    branch's own, wherever they are opened.  Where all of them are."""
    if not plan.copies and not moved and not plan.real:
        return {}
    folder = Path(branch) / _FOLDER
    if plan.copies:
        make_directory(str(folder))
    places = dict(moved)
    for number, (path, size) in enumerate(sorted(plan.copies.items())):
        places[path] = folder / f"{number}-{Path(path).name[:200]}"
        if size is not None:
            _copy(plan.sources.get(path, path), places[path], size)
    text = "".join(f"{place}\t{path}\n" for path, place in sorted(places.items()))
    text += "".join(f"\t{path}\n" for path in sorted(plan.real.difference(places)))
    encoded = os.fsencode(text)
    encoded += b"" if len(encoded) % _PAGE else b"\n"
    with open(os.path.join(branch, _LIST), "xb", opener=opener) as file:
        file.write(encoded)
    return places


def _copy(path: str, place: Path, size: int) -> None:
    with open(place, "xb", opener=opener) as to:
        if not size:
            return
        with open(path, "rb") as source:
            while size:
                part = source.read(min(size, 1 << 20))
                if not part:
                    raise OSError(f"{path} has become shorter")
                to.write(part)
                size -= len(part)


def later_copies(branch: Path) -> list[Path]:
    """Those that the branch has, or has made."""
    return sorted((branch / _FOLDER).glob("*")) if (branch / _FOLDER).is_dir() else []
