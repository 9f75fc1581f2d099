"""Segments of logs that are brought from other hosts while they grow there
(interposer/log/log_copy.h, in librdblog)."""

from __future__ import annotations

import os
from pathlib import Path

from rdb.recording.log.library import log_library


def segment_end(path: Path) -> int:
    """Offset where the records of this segment end just now; what is before it is whole.

    OSError: it cannot be read.
    """
    _, library = log_library()
    return _checked(path, library.log_end(os.fsencode(path)))


def grow_segment(path: Path, newer: Path) -> None:
    """Makes the segment PATH, which others may be reading, what NEWER is, a later copy of it.

    OSError: one cannot be read or written.
    """
    _, library = log_library()
    _checked(path, library.log_grow(os.fsencode(path), os.fsencode(newer)))


def _checked(path: Path, status: int) -> int:
    if status < 0:
        raise OSError(-status, os.strerror(-status), str(path))
    return int(status)
