"""Mode, owner, times, links and extended attributes of files.

The log notes them before a call changes them (interposer/answer/attributes.h), and a branch's
copies get them.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from rdb.errors import Unsupported
from rdb.recording.log.record import Note, Record

# x86-64 system calls that change only attributes
CALLS = (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452)
XATTRS_AT = (463, 466)
_OPENS = (2, 85, 257)
_HEAD_BYTES = 56  # struct rdb_note_attributes
_NONE, _HAD = 1, 2  # enum rdb_xattr


@dataclass(frozen=True, slots=True)
class Attributes:
    mode: int
    uid: int
    gid: int
    links: int
    inode: tuple[int, int]
    accessed_ns: int
    modified_ns: int
    xattrs: tuple[tuple[str, bytes | None], ...] = ()
    """Extended attributes that differ from the present file's; None: absent."""
    lost: tuple[str, ...] = ()
    """Names of extended attributes with unknown values."""

    def with_xattrs_of(self, later: Attributes | None) -> Attributes:
        """These attributes, with the extended ones that only LATER, the next note, has."""
        if later is None:
            return self
        mine = {name for name, _ in self.xattrs} | set(self.lost)
        return replace(
            self,
            xattrs=self.xattrs + tuple(one for one in later.xattrs if one[0] not in mine),
            lost=self.lost + tuple(name for name in later.lost if name not in mine),
        )

    def not_allowed(self) -> list[str]:
        """Extended attributes that this user may not set: all but those in `user.`."""
        return [name for name, _ in self.xattrs if os.geteuid() and not name.startswith("user.")]

    def hold_for(self, found: os.stat_result) -> bool:
        """Whether the file has these attributes."""
        return (
            (self.mode, self.uid, self.gid) == (found.st_mode, found.st_uid, found.st_gid)
            and (self.links, self.modified_ns) == (found.st_nlink, found.st_mtime_ns)
            and not self.xattrs
        )


@dataclass(frozen=True, slots=True)
class Noted:
    path: str
    attributes: Attributes
    made: bool
    """Whether this call made the file."""


def noted(record: Record) -> Noted | None:
    for chunk in record.chunks:
        if not chunk.addr and chunk.note == Note.ATTRIBUTES and len(chunk.data) > _HEAD_BYTES:
            return read(bytes(chunk.data))
    return None


def read(data: bytes) -> Noted:
    """The note as stored."""
    mode, uid, gid, links = (_number(data, at, 4) for at in (0, 4, 8, 12))
    dev, ino, accessed, modified = (_number(data, at, 8) for at in (16, 24, 32, 40))
    path_end = _HEAD_BYTES + _number(data, 48, 4)
    made, xattr = _number(data, 52, 2), _number(data, 54, 2)
    path = os.fsdecode(data[_HEAD_BYTES : path_end - 1])
    xattrs: tuple[tuple[str, bytes | None], ...] = ()
    lost: tuple[str, ...] = ()
    if xattr:
        name, value = data[path_end:].split(b"\0", 1)
        if xattr in (_NONE, _HAD):
            xattrs = ((os.fsdecode(name), value if xattr == _HAD else None),)
        else:
            lost = (os.fsdecode(name),)
    found = Attributes(mode, uid, gid, links, (dev, ino), accessed, modified, xattrs, lost)
    return Noted(path, found, bool(made))


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def attributes_of(found: os.stat_result) -> Attributes:
    return Attributes(
        found.st_mode,
        found.st_uid,
        found.st_gid,
        found.st_nlink,
        (found.st_dev, found.st_ino),
        found.st_atime_ns,
        found.st_mtime_ns,
    )


def give(place: Path, wanted: Attributes, source: str) -> None:
    """Gives the attributes to PLACE, a copy of the file at SOURCE.

    Unsupported: an extended attribute cannot be set. OSError: another attribute cannot.
    """
    _give_xattrs(place, wanted, source)
    there = place.stat()
    if (wanted.uid, wanted.gid) != (there.st_uid, there.st_gid) and not owner_is_lost(wanted):
        os.chown(place, wanted.uid, wanted.gid)
    place.chmod(stat.S_IMODE(wanted.mode))
    os.utime(place, ns=(wanted.accessed_ns, wanted.modified_ns))


def owner_is_lost(wanted: Attributes) -> bool:
    """Whether this user may not give the file to its owner."""
    mine = wanted.uid == os.geteuid() and wanted.gid in (os.getegid(), *os.getgroups())
    return os.geteuid() != 0 and not mine


def _give_xattrs(place: Path, wanted: Attributes, source: str) -> None:
    had: dict[str, bytes] = {}
    if source:
        names = [one for one in _listed(source) if one.startswith("user.")]
        had = {name: os.getxattr(source, name) for name in names}
    for name, value in wanted.xattrs:
        if value is None or name in wanted.not_allowed():
            had.pop(name, None)
        else:
            had[name] = value
    for name, value in had.items():
        try:
            os.setxattr(place, name, value)
        except OSError as error:
            raise Unsupported(
                f"{place}: its extended attribute {name} cannot be set: {error.strerror}",
                hint="RDB_HOME on a file system that has them",
            ) from error


def _listed(path: str) -> list[str]:
    try:
        return os.listxattr(path)
    except OSError:  # a file system without extended attributes
        return []
