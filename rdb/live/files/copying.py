"""Copies files, by sharing blocks if the file system can."""

from __future__ import annotations

import errno
import fcntl
import os

_FICLONERANGE = 0x4020940D
_NOT_HERE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EPERM)
_PART = 1 << 20


def copy_bytes(source: int, to: int, size: int, name: str) -> None:
    """Copies the first SIZE bytes of descriptor SOURCE, the file NAME, to the empty file TO.

    OSError: NAME is shorter, or the copy fails.
    """
    if _cloned(source, to, size):
        return
    at = 0
    while at < size:
        n = _part(source, to, at, size - at)
        if not n:
            raise OSError(f"{name} was truncated while rdb copied it")
        at += n


def _cloned(source: int, to: int, size: int) -> bool:
    """Clones the whole file and truncates the copy, as a partial clone needs whole blocks."""
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
    """struct file_clone_range (ioctl_ficlonerange(2)): source, offset, length (0: to the end),
    target.
    """
    return b"".join(number.to_bytes(8, "little") for number in (source, 0, 0, 0))


def _part(source: int, to: int, at: int, left: int) -> int:
    try:
        return os.copy_file_range(source, to, left, at, at)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
    return os.pwrite(to, os.pread(source, min(left, _PART), at), at)
