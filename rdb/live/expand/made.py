"""The messages of one rank that have been made again (interposer/replay/payload.h)."""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

from rdb.private import opener
from rdb.recording.order import PAYLOAD

PART, MARKS = f"{PAYLOAD}.part", f"{PAYLOAD}.marks"
_UNIT = 64 << 10  # PAYLOAD_UNIT
_MARK = struct.Struct("<II")  # struct payload_mark
_UNCHECKED = 2


class Made:
    """What the files beside a rank's log have at this moment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._whole = (folder / PAYLOAD).exists()
        self._marks = b""
        with suppress(FileNotFoundError):
            self._marks = (folder / MARKS).read_bytes()

    def has(self, offset: int) -> bool:
        """Is the message that begins at OFFSET there?"""
        at = offset // _UNIT * _MARK.size
        return self._whole or (
            at + _MARK.size <= len(self._marks) and _MARK.unpack_from(self._marks, at)[1] != 0
        )


def put(folder: Path, offset: int, data: bytes) -> None:
    """Adds a message; its receiver checks it."""
    for name, place, written in (
        (PART, offset, data),
        (MARKS, offset // _UNIT * _MARK.size, _MARK.pack(0, _UNCHECKED)),
    ):
        fd = opener(str(folder / name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC)
        try:
            while written:
                done = os.pwrite(fd, written, place)
                written, place = written[done:], place + done
        finally:
            os.close(fd)


def publish(folder: Path, empty: bool) -> None:
    """All messages are there: from now on the rank's file of payloads is whole."""
    if empty:
        with open(folder / PAYLOAD, "ab", opener=opener):
            pass
        return
    with suppress(FileNotFoundError):  # another rdb has done it meanwhile
        os.rename(folder / PART, folder / PAYLOAD)
