"""Short records (interposer/interface/log_format.h, struct log_short).

A short record repeats an earlier record and holds only the words that differ.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

_SHORT = struct.Struct("<6I")
_FLAG = 1  # LOG_SHORT
_BODY = 7  # words of struct log_record
_RESULT = 4  # the word of its result
_REPEAT, _EVENT, _AT_NS, _TOOK = struct.Struct("<II"), 24, 40, 52
_WORD = struct.Struct("<Q")


def is_short(data: memoryview) -> bool:
    return bool(data[0] & _FLAG)


def expand(data: memoryview, before: Callable[[int, int], memoryview]) -> memoryview:
    """The whole record; BEFORE(DISTANCE, SIZE) returns bytes of the segment before this record."""
    _, _, back, event, at_ns, took = _SHORT.unpack_from(data)
    (size,) = struct.unpack_from("<I", before(8 * back, 4))
    record = bytearray(before(8 * back, size))
    _REPEAT.pack_into(record, 8, 0, 0xFFFFFFFF)
    _add(record, _EVENT, event)
    _add(record, _AT_NS, at_ns)
    struct.pack_into("<I", record, _TOOK, took)
    if len(data) > _SHORT.size:
        mask, *words = struct.unpack_from(f"<{(len(data) - _SHORT.size) // 8}Q", data, _SHORT.size)
        places = (bit for bit in range(64) if mask >> bit & 1)
        for bit, word in zip(places, words, strict=True):
            _WORD.pack_into(record, 8 * (_BODY - 1 + bit if bit else _RESULT), word)
    return memoryview(record).toreadonly()


def _add(record: bytearray, at: int, what: int) -> None:
    (value,) = _WORD.unpack_from(record, at)
    _WORD.pack_into(record, at, value + what)
