"""Stored files: which ones a recording has mapped, and whether they are unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdb.errors import DamagedRecording
from rdb.recording.log.library import log_library
from rdb.recording.log.record import Kind
from rdb.recording.rank import RankRecording


def stored_keys(recording: RankRecording) -> Iterator[str]:
    """Keys of all stored files that the program has mapped, also several of one path."""
    for place in recording.index.of_kind(Kind.FILE):
        for line in recording.index.record(place).text().splitlines():
            if line.startswith("key="):
                yield line.removeprefix("key=")


_NOT_SAID = 2  # file_sum_check(): the file's name holds no checksum
_BEFORE_A_PROMPT = 64 << 20  # bytes, as in interposer/space/store_check.c


def file_sums(path: Path) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """(size in bytes, CRC-32C) of a stored file, as its name says and as it is now.

    None: its name does not say.  Raises DamagedRecording if the file cannot be read.
    """
    ffi, library = log_library()
    expected: Any = ffi.new("struct file_sum *")
    found: Any = ffi.new("struct file_sum *")
    status = library.file_sum_check(os.fsencode(path), expected, found)
    if status < 0:
        raise DamagedRecording(f"{path}: {os.strerror(-status)}")
    if status == _NOT_SAID:
        return None
    return (expected.size, expected.crc), (found.size, found.crc)


def check_some_stored(files: Path) -> None:
    """Checks stored files, the smallest first, up to 64 MiB: the user waits for a prompt."""
    read = 0
    for path in sorted(_all(files), key=lambda path: (path.stat().st_size, path)):
        read += path.stat().st_size
        if read > _BEFORE_A_PROMPT:
            return
        check_stored(path)


def check_all_stored(files: Path) -> None:
    """Checks all stored files of a job; FILES: its folder files/.

    interposer/space/store_check.c checks those that a replay maps, up to a limit.
    """
    for path in _all(files):
        check_stored(path)


def _all(files: Path) -> list[Path]:
    try:
        return sorted(files.iterdir())
    except OSError as error:
        raise DamagedRecording(f"{files}: {error.strerror}") from error


def check_stored(path: Path) -> None:
    sums = file_sums(path)
    if sums is None or sums[0] == sums[1]:
        return
    (size, crc), (size_now, crc_now) = sums
    raise DamagedRecording(
        f"{path} is not what was recorded: expected {size} bytes, CRC-32C {crc:08x}, found "
        f"{size_now} bytes, {crc_now:08x}",
        "put it back from a copy or a pack of the job, or record again",
    )
