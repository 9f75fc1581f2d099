"""Copies of files, which share the bytes where the file system can."""

from __future__ import annotations

import errno
import fcntl
import os

_FICLONERANGE = 0x4020940D
_NOT_HERE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EPERM)
_PART = 1 << 20


def copy_bytes(source: int, to: int, size: int, name: str) -> None:
    """The first SIZE bytes of descriptor SOURCE, the file NAME, to the empty one TO."""
    if _cloned(source, to, size):
        return
    at = 0
    while at < size:
        n = _part(source, to, at, size - at)
        if not n:
            raise OSError(f"{name} has become shorter")
        at += n


def _cloned(source: int, to: int, size: int) -> bool:
    """All of it, and then cut: parts would have to be whole blocks."""
    try:
        fcntl.ioctl(to, _FICLONERANGE, _range(source))
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        return False
    if os.fstat(to).st_size < size:
        os.ftruncate(to, 0)
        return False
    os.ftruncate(to, size)
    return True


def _range(source: int) -> bytes:
    """struct file_clone_range: descriptor, from, so many bytes (0: all), to."""
    return b"".join(number.to_bytes(8, "little") for number in (source, 0, 0, 0))


def _part(source: int, to: int, at: int, left: int) -> int:
    try:
        return os.copy_file_range(source, to, left, at, at)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    return os.pwrite(to, os.pread(source, min(left, _PART), at), at)
