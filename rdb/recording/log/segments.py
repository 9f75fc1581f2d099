"""Copies of log segments that still grow on another host (interposer/log/log_copy.h)."""

from __future__ import annotations

import os
from pathlib import Path

from rdb.recording.log.library import log_library


def segment_end(path: Path) -> int:
    """Offset of the end of the last whole record of a segment.

    Raises OSError if the segment cannot be read.
    """
    _, library = log_library()
    return _checked(path, library.log_end(os.fsencode(path)))


def grow_segment(path: Path, newer: Path) -> None:
    """Extends the segment PATH by the records that its later copy NEWER has in addition.

    Other processes may be reading PATH.  Raises OSError if a file cannot be read or written.
    """
    _, library = log_library()
    _checked(path, library.log_grow(os.fsencode(path), os.fsencode(newer)))


def _checked(path: Path, status: int) -> int:
    if status < 0:
        raise OSError(-status, os.strerror(-status), str(path))
    return int(status)
