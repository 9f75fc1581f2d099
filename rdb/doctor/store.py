"""The store of recordings: whether we can write there, whether others can, free space."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rdb.doctor.finding import Finding, State
from rdb.doctor.machine import Machine
from rdb.errors import NotYours
from rdb.private import check_store
from rdb.recording import home

_GROUP = "recordings"
_GIB = 1 << 30
_TIGHT_BYTES = 1 << 30
_TOO_FULL_BYTES = 64 << 20  # less than two segments of a log


def _existing(path: Path) -> Path:
    path = path.absolute()
    while not os.path.exists(path):  # false also where a parent cannot be searched
        path = path.parent
    return path


def place(machine: Machine) -> Iterator[Finding]:
    path = home()
    meaning = "$RDB_HOME: recordings are written here"
    refused = _try_writing(_existing(path))
    if refused is None:
        yield Finding(_GROUP, "store", State.OK, str(path), meaning, essential=True)
    else:
        detail = f"{path}: {refused}"
        remedy = "set RDB_HOME to a directory of yours on a local disk"
        yield Finding(_GROUP, "store", State.MISSING, detail, meaning, remedy, True)


def _try_writing(folder: Path) -> str | None:
    """Makes a folder and a file, allocates, maps and writes it, as the log does.

    None: it works; otherwise the error.
    """
    try:
        with (
            tempfile.TemporaryDirectory(dir=folder, prefix=".rdb-doctor-") as made,
            open(Path(made) / "log", "w+b") as file,
        ):
            os.posix_fallocate(file.fileno(), 0, mmap.PAGESIZE)
            with mmap.mmap(file.fileno(), mmap.PAGESIZE) as mapped:
                mapped[0] = 1
    except OSError as error:
        # The finding `disk space` reports a full disk.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return None if full else os.strerror(error.errno or 0)
    return None


def privacy(machine: Machine) -> Iterator[Finding]:
    """The check that is made when a recording is opened."""
    path, what = home(), "store's privacy"
    meaning = "a recording holds the program's memory, and opening it runs the program's code"
    try:
        check_store(str(path))
    except NotYours as error:
        remedy = error.hint or ""
        yield Finding(_GROUP, what, State.MISSING, error.message, meaning, remedy, True)
        return
    mode = stat.S_IMODE(path.stat().st_mode) if os.path.exists(path) else None
    if mode is not None and mode & 0o077:
        meaning = "others see the names of your jobs, but cannot read the recordings"
        detail = f"mode {mode:o}"
        yield Finding(_GROUP, what, State.DEGRADED, detail, meaning, f"chmod 700 {path}", True)
        return
    detail = "rdb will make it, mode 700" if mode is None else f"yours, mode {mode:o}"
    yield Finding(_GROUP, what, State.OK, detail, meaning, essential=True)


def room(machine: Machine) -> Iterator[Finding]:
    free = shutil.disk_usage(_existing(home())).free
    detail = f"{free / _GIB:.1f} GiB free"
    remedy = "make room (`rdb rm`), or set RDB_HOME to another disk"
    if free >= _TIGHT_BYTES:
        meaning = "recording stops when the disk is full; the program goes on"
        yield Finding(_GROUP, "disk space", State.OK, detail, meaning, essential=True)
    elif free >= _TOO_FULL_BYTES:
        meaning = "recording may stop early when the disk is full; the program goes on"
        yield Finding(_GROUP, "disk space", State.DEGRADED, detail, meaning, remedy, True)
    else:
        meaning = "too little space to start a recording"
        yield Finding(_GROUP, "disk space", State.MISSING, detail, meaning, remedy, True)


PROBES = (place, privacy, room)
