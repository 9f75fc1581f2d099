"""Segment 0 of a log whose beginning is left out.  It holds only META and FILE records.

The bytes are those that interposer/log/log_head.c writes for recordings bounded by --keep.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from rdb.crc32c import crc32c, crc32c_data
from rdb.recording.log.index import LogIndex
from rdb.recording.log.record import Kind

SEGMENT_HEADER = struct.Struct("<QIIQ")  # struct log_segment_header without its checksum
_RECORD = struct.Struct("<IIIIHHIQqQII")  # struct log_record
_CHUNK = struct.Struct("<QII")  # struct log_chunk
_CHECKED_FROM = 16
_NOTE_TEXT = 4


def log_head(index: LogIndex, header: bytes, first_event: int) -> bytes:
    """Bytes of segment 0 of a log that begins at FIRST_EVENT.

    HEADER: the segment header of the segment that it replaces.
    """
    magic, version, _, _ = SEGMENT_HEADER.unpack_from(header)
    head = SEGMENT_HEADER.pack(magic, version, 0, first_event)
    return head + struct.pack("<Q", crc32c(0, head)) + b"".join(_texts(index))


def _texts(index: LogIndex) -> Iterator[bytes]:
    """The records, with event and time 0."""
    seen = set()
    for place in index.of_kind(Kind.META, Kind.FILE):
        record = index.record(place)
        for chunk in record.chunks[:1]:
            text = bytes(chunk.data)
            if text not in seen:
                seen.add(text)
                yield _text_record(int(record.kind), text)


def _text_record(kind: int, text: bytes) -> bytes:
    pad = bytes(-len(text) % 8)
    size = _RECORD.size + _CHUNK.size + len(text) + len(pad)
    chunk = _CHUNK.pack(0, len(text), _NOTE_TEXT)
    fields = (0, 0xFFFFFFFF, kind, 0, 0, 0, 0, 0, 0, 0)
    checked = _RECORD.pack(size, 0, *fields)[_CHECKED_FROM:]
    check = crc32c(crc32c_data(crc32c(crc32c(0, checked), chunk), text), pad)
    return _RECORD.pack(size, check, *fields) + chunk + text + pad
