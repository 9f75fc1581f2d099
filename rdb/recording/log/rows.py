"""Values of many records as columns (interposer/log/log_rows.h): Python takes one record after the
other ten times slower."""

from __future__ import annotations

import errno
import os
from array import array
from collections.abc import Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

from rdb.errors import DamagedRecording
from rdb.recording.log.library import log_library

_ROOM = 1 << 16  # rows


class Column(IntEnum):
    """enum log_column; numbers below are those of arguments."""

    NUMBER = 64
    EVENT = 65
    RESULT = 66
    AT_NS = 67
    REPEAT = 68
    THREAD = 69
    TOOK = 70
    NOTE = 71
    PEER = 72
    TAG = 73
    BYTES = 74


def rows(
    directory: Path, entries: Any, numbers: array[int], columns: Sequence[int], signed: str
) -> Iterator[list[memoryview]] | None:
    """COLUMNS of the entries with these ascending NUMBERS, in batches; None: a record lacks an
    argument.

    SIGNED: for each column `q`, or `Q` for values without a sign.  With Column.NOTE an entry has a
    row for each of its messages.
    """
    ffi, library = log_library()
    wanted, width = bytes(columns), len(columns)
    given = ffi.from_buffer("uint64_t[]", numbers)
    read, count = ffi.new("size_t *"), ffi.new("size_t *")
    room, found = _ROOM, []
    while read[0] < len(numbers):
        values = ffi.new("uint64_t[]", max(width, 1) * room)
        status = library.log_rows(
            os.fsencode(directory),
            *(entries, given, len(numbers), wanted, width, values, room, read, count),
        )
        if status == -errno.ERANGE:
            return None
        if status != 0:
            raise DamagedRecording(f"{directory}: {os.strerror(-status)}")
        if not count[0]:
            room *= 2  # one record has more messages
            continue
        whole = memoryview(ffi.buffer(values)).cast("B")
        found.append(
            [
                whole[8 * room * place : 8 * (room * place + count[0])].cast(code)  # type: ignore[call-overload]
                for place, code in enumerate(signed)
            ]
        )
    return iter(found)
