"""Segments of logs that are brought from other hosts while they grow there
(interposer/log/log_copy.h, in librdblog)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from cffi import FFI

from rdb.paths import log_library_path

_CDEF = """
int64_t log_end(const char *path);
int log_grow(const char *path, const char *newer);
"""


@cache
def _library() -> Any:
    ffi = FFI()
    ffi.cdef(_CDEF)
    return ffi.dlopen(str(log_library_path()))


def segment_end(path: Path) -> int:
    """Offset where the records of this segment end just now; what is before it is whole.

    OSError: it cannot be read.
    """
    return _checked(path, _library().log_end(os.fsencode(path)))


def grow_segment(path: Path, newer: Path) -> None:
    """Makes the segment PATH, which others may be reading, what NEWER is, a later copy of it.

    OSError: one cannot be read or written.
    """
    _checked(path, _library().log_grow(os.fsencode(path), os.fsencode(newer)))


def _checked(path: Path, status: int) -> int:
    if status < 0:
        raise OSError(-status, os.strerror(-status), str(path))
    return int(status)
