"""What each name stood for at the cut, found from what exists now and all later changes.

With each call that irreversibly changes a file or a name, a recording notes the state before the
call (interposer/answer/kept_files.h). Undone from the newest to the oldest, these calls give the
state at the cut, whichever process changed it.
"""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache, partial
from pathlib import Path

from rdb.errors import DamagedRecording
from rdb.live.files import attributes
from rdb.live.files.attributes import Attributes, Noted
from rdb.recording import RankRecording
from rdb.recording.log.record import Note, Record
from rdb.recording.stored import check_stored

# x86-64 system calls
_OPEN, _OPENAT, _CREAT = 2, 257, 85
RENAMES, _LINKS = (82, 264, 316), (86, 265)
# stat(2): instead of a call that failed, as a directory was there, which may have gone since
STAYED = 4
TRUNCATE, UNLINK = 76, 87
_OTHERS = (TRUNCATE, 77, 83, 84, UNLINK, 88, 133, 258, 259, 263, 266)
_ATTRIBUTES = (*attributes.CALLS, *attributes.XATTRS_AT)
CALLS = (_OPEN, _OPENAT, _CREAT, *RENAMES, *_LINKS, *_OTHERS, *_ATTRIBUTES)
_RENAMEAT2, _EXCHANGE = 316, 2
_SIZE_BYTES = 8  # struct rdb_note_opened
_HEAD_BYTES = 32  # struct rdb_note_was


class Was(IntEnum):
    """enum rdb_was in interposer/interface/host.h."""

    ABSENT = 0
    EMPTY = 1
    KEPT = 2
    SAME = 3
    LOST = 4
    DIRECTORY = 5
    LINK = 6
    OTHER = 7
    FIFO = 8


@cache
def _damage(place: str, changed_ns: int) -> str:
    """What is wrong with a stored file; "" if nothing.

    CHANGED_NS is part of the cache's key: a repaired file is checked again.
    """
    try:
        check_stored(Path(place))
    except DamagedRecording as error:
        return error.message
    return ""


@dataclass(frozen=True, slots=True)
class Content:
    """What a name stood for."""

    was: Was
    place: str = ""
    """Of a file: the path of the content now; of a link: its target."""
    size_bytes: int = 0
    mode: int = 0
    changed_ns: int = 0
    event: int | None = 0
    """None: the job has no log."""
    rank: int = 0
    over_budget: bool = False
    """Was.LOST because --kept-budget was spent."""

    @property
    def when(self) -> str:
        if self.event is None:
            return f"rank {self.rank} changed it after the checkpoint"
        return f"rank {self.rank} wrote to it after the cut (event {self.event})"

    def damage(self) -> str:
        """What is wrong with a file that was kept beside a log; "" if nothing."""
        if os.path.basename(self.place).startswith("kept-") and self.was is Was.KEPT:
            with suppress(FileNotFoundError):
                return _damage(self.place, os.lstat(self.place).st_mtime_ns)
        return ""

    def lost(self) -> bool:
        """Whether the content is gone or changed."""
        try:
            there = os.lstat(self.place)
        except OSError:
            return True
        altered = self.changed_ns and there.st_mtime_ns != self.changed_ns
        if altered or not stat.S_ISREG(there.st_mode) or there.st_size < self.size_bytes:
            return True
        return bool(self.damage())


@dataclass(frozen=True, slots=True)
class Change:
    """A call that changed a name, or the file that it stands for."""

    rank: int
    event: int
    at_ns: int
    nr: int
    path: str
    other: str
    """The first name, if the call has two."""
    flags: int
    size_bytes: int
    """Size of the opened file before the call."""
    before: Content | None
    """None: the log does not say."""
    noted: Noted | None = None
    """Attributes of the file that the call changes or replaces, which may have another path."""

    @property
    def opens(self) -> bool:
        return self.nr in (_OPEN, _OPENAT, _CREAT)

    def with_nr(self, nr: int) -> Change:
        """The same, as if made by another call."""
        return replace(self, nr=nr)

    def with_time(self, at_ns: int) -> Change:
        return replace(self, at_ns=at_ns)

    @property
    def appends(self) -> bool:
        return bool(self.flags & os.O_APPEND) and not self.flags & os.O_TRUNC


def programs_of(top: RankRecording) -> list[RankRecording]:
    """All programs that ran for a rank, its own first."""
    others = [one.parent for one in sorted(top.path.rglob("log-000000.seg"))]
    return [
        top,
        *(RankRecording(one, top.files_dir, top.name) for one in others if one != top.path),
    ]


def changes_of(recording: RankRecording, rank: int) -> Iterator[Change]:
    index = recording.index
    for place in index.of_calls(*CALLS):
        record = index.record(place)
        if record.result >= 0:
            yield from _change(recording.path, record, rank)


def _change(folder: Path, record: Record, rank: int) -> Iterator[Change]:
    opened = was = None
    for chunk in record.chunks:
        if not chunk.addr and chunk.note == Note.OPENED and len(chunk.data) > _SIZE_BYTES:
            opened = bytes(chunk.data)
        elif not chunk.addr and chunk.note == Note.WAS and len(chunk.data) > _HEAD_BYTES:
            was = bytes(chunk.data)
    flags, size = 0, 0
    path = other = ""
    noted = attributes.noted(record)
    before = None
    if was is not None:
        kept = partial(_kept, folder)
        path, other, before = note_of(was, record.nr, rank, record.event, kept)
    if record.nr in (_OPEN, _OPENAT, _CREAT):
        if opened is None:
            return
        path = path or os.fsdecode(opened[_SIZE_BYTES:])
        size = int.from_bytes(opened[:_SIZE_BYTES], "little")
        flags = os.O_CREAT | os.O_TRUNC
        if record.nr != _CREAT:
            flags = record.args[1 if record.nr == _OPEN else 2]
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            return  # it has no name
    elif record.nr == _RENAMEAT2:
        flags = record.args[4]
    elif record.nr in _ATTRIBUTES and noted is not None:
        path = noted.path
    if path and not any(char in path + other for char in "\n\t"):
        event, at_ns, nr = record.event, record.at_ns, record.nr
        yield Change(rank, event, at_ns, nr, path, other, flags, size, before, noted)


def _kept(folder: Path, number: int) -> str:
    return str(folder / f"kept-{number}")


def note_of(
    note: bytes, nr: int, rank: int, event: int | None, kept: Callable[[int], str]
) -> tuple[str, str, Content]:
    """What a call with two or one names changed, from its note Note.WAS.

    KEPT: the path of a kept content, by its number.
    """
    what, number, mode = (int.from_bytes(note[at : at + 4], "little") for at in (0, 4, 8))
    size, changed = (int.from_bytes(note[at : at + 8], "little") for at in (16, 24))
    texts = [os.fsdecode(one) for one in note[_HEAD_BYTES:].split(b"\0")]
    two = nr in (*RENAMES, *_LINKS)
    place = kept(number) if what == Was.KEPT else ""
    if what == Was.LINK:
        place = texts[1 + two]
    over = what == Was.LOST and number == 1
    content = Content(Was(what), place, size, mode, changed, event, rank, over)
    return texts[0], texts[1] if two else "", content


class Names:
    """What each name stands for, at a time that moves back."""

    def __init__(self, places: Mapping[str, str], follows: bool = False) -> None:
        """PLACES: the branch's own copies, if the job is itself a branch; path -> copy.

        FOLLOWS: these are known as they are now, and not only at the branch's beginning.
        """
        self.places = places
        self.follows = follows
        self.known: dict[str, Content] = {}
        self.attributes: dict[str, Attributes] = {}
        self.folders: dict[str, Attributes] = {}
        """Attributes of directories, which are never copied."""
        self.names: dict[tuple[int, int], set[str]] = defaultdict(set)
        """(device, inode) -> names that the file has or had."""

    def before(self, changes: Iterable[Change]) -> Mapping[str, Content]:
        """What each name stood for before CHANGES, which are all changes since then."""
        for one in sorted(changes, key=lambda one: one.at_ns, reverse=True):
            self._undo(one)
            if one.noted is not None:
                self._attributes_back(one.noted)
        linked = {path: had for path, had in self.attributes.items() if had.links > 1}
        self._beside(linked)
        for path, had in linked.items():
            for other in self.names[had.inode].difference(self.known):
                self._also_named(other, had, self._now(path))
        return self.known

    def unknown_names(self) -> dict[str, int]:
        """Of each file that had more names than are known now: one of these, and how many more."""
        found: dict[tuple[int, int], tuple[str, int]] = {}
        for path, had in self.attributes.items():
            names = {path, *self.names[had.inode]}
            there = [name for name in names if self._now(name).was is not Was.ABSENT]
            if had.links > len(there):
                found[had.inode] = path, had.links - len(there)
        return dict(found.values())

    def _beside(self, linked: Mapping[str, Attributes]) -> None:
        """Finds further names of linked files: in the same directories, and among the branch's
        copies.
        """
        wanted = {had.inode[1]: had.inode for had in linked.values()}
        for folder in {os.path.dirname(path) for path in linked}:
            for name, number in _inodes(folder):
                if number in wanted:
                    self.names[wanted[number]].add(name)
        for path, place in self.places.items() if linked else ():
            with suppress(OSError):
                found = os.lstat(place)
                self.names[found.st_dev, found.st_ino].add(path)

    def _attributes_back(self, noted: Noted) -> None:
        if noted.made:
            self.attributes.pop(noted.path, None)
            return
        had = noted.attributes
        if stat.S_ISDIR(had.mode):
            self.folders[noted.path] = had.with_xattrs_of(self.folders.get(noted.path))
            return
        self.attributes[noted.path] = had.with_xattrs_of(self.attributes.get(noted.path))
        if noted.path not in self.known:
            self.known[noted.path] = self._now(noted.path)

    def _also_named(self, path: str, had: Attributes, content: Content) -> None:
        """Gives PATH the content of another name of the same file; no call used PATH."""
        place = place_of(self.places, path)
        try:
            there = os.lstat(place)
        except OSError:
            return
        if (there.st_dev, there.st_ino) == had.inode:
            self.known[path] = content
            self.attributes[path] = had

    def _now(self, path: str) -> Content:
        """What PATH stands for at the time reached so far."""
        if path in self.known:
            return self.known[path]
        folder = path
        while folder != "/" and folder:
            folder = os.path.dirname(folder)
            known = self.known.get(folder)
            if known is not None:
                moved = known.was is Was.DIRECTORY and known.place
                return now(known.place + path[len(folder) :]) if moved else Content(Was.ABSENT)
        return now(place_of(self.places, path))

    def _undo(self, one: Change) -> None:
        if one.nr in RENAMES:
            self._named_back(one)
        elif one.opens and one.before is None:
            now = self._now(one.path)
            if one.flags & os.O_EXCL:
                self._set(one.path, Content(Was.ABSENT))
            elif not one.size_bytes and not one.flags & os.O_TRUNC:
                self._set(one.path, Content(Was.EMPTY))
            elif not one.appends:
                self._set(one.path, Content(Was.LOST, event=one.event, rank=one.rank))
            elif now.was in (Was.KEPT, Was.EMPTY):
                self._set(one.path, replace(now, size_bytes=one.size_bytes))
            elif now.was is Was.SAME:
                self._set(one.path, replace(now, event=one.event, rank=one.rank))
        elif one.nr == STAYED:
            if self._now(one.path).was is not Was.DIRECTORY:
                self._set(one.path, Content(Was.DIRECTORY))
        elif one.before is not None:
            self._set(one.path, one.before)

    def _set(self, path: str, content: Content) -> None:
        if content.was is Was.ABSENT:
            for name in [name for name in self.known if name.startswith(path + "/")]:
                del self.known[name]
            self.attributes.pop(path, None)
        self.known[path] = content

    def _named_back(self, one: Change) -> None:
        if one.before is None:
            return
        first, second = one.other, one.path
        now = self._now(second)
        # a path of the branch's own table (own_paths.c)
        if not self.follows and (first in self.places or second in self.places):
            now = Content(Was.LOST, event=one.event, rank=one.rank)
        below = {
            name: content for name, content in self.known.items() if name.startswith(second + "/")
        }
        had = self._taken(second)
        other = one.before
        if one.nr == _RENAMEAT2 and one.flags & _EXCHANGE:
            other = self._now(first)
            self.attributes |= {second + name: one for name, one in self._taken(first).items()}
        self._set(second, other)
        for name in below:
            self.known.pop(name, None)
        self._set(first, now)
        for name, content in below.items():
            self.known[first + name[len(second) :]] = content
        self.attributes |= {first + name: one for name, one in had.items()}

    def _taken(self, path: str) -> dict[str, Attributes]:
        """Removes and returns the attributes of PATH and of all below it, by the rest of
        the name.
        """
        names = [name for name in self.attributes if name == path or name.startswith(path + "/")]
        return {name[len(path) :]: self.attributes.pop(name) for name in names}


def _inodes(folder: str) -> list[tuple[str, int]]:
    """Paths and inode numbers of the entries of FOLDER; empty if it is gone."""
    try:
        with os.scandir(folder) as entries:
            return [(one.path, one.inode()) for one in entries]
    except OSError:
        return []


def place_of(places: Mapping[str, str], path: str) -> str:
    """The branch's copy of PATH, or of a directory above PATH; without one, PATH."""
    above = path
    while above not in places and os.path.dirname(above) != above:
        above = os.path.dirname(above)
    return places[above] + path[len(above) :] if above in places else path


def now(path: str) -> Content:
    """What PATH stands for now."""
    try:
        found = os.lstat(path)
    except OSError:
        return Content(Was.ABSENT)
    if stat.S_ISREG(found.st_mode):
        return Content(Was.KEPT, path, found.st_size, found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return Content(Was.LINK, os.readlink(path))
    if stat.S_ISDIR(found.st_mode):
        return Content(Was.DIRECTORY, path)
    if stat.S_ISFIFO(found.st_mode):
        return Content(Was.FIFO, mode=found.st_mode)
    return Content(Was.OTHER)
