"""Messages that a recording made with `--record=lean` left to the recordings of their senders."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rdb.recording.log.library import log_library, read_error


class Payload(NamedTuple):
    """A message in memory of its receiver, of which the log has a hash (struct log_payload)."""

    event: int
    """That wrote it to memory."""
    at: int
    offset: int
    """In the file of payloads."""
    size_bytes: int
    check: int
    peer: int
    tag: int
    comm: int
    order: int
    """Number of the receive."""


class Piece(NamedTuple):
    """A part of a message that the sender's log holds."""

    segment: int
    offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Payloads:
    received: Sequence[Payload] = ()
    """In the order of the log."""
    kept: dict[int, list[Piece]] = field(default_factory=dict)
    """Sends, by their number among all of the log, whose bytes the log holds."""


def read_payloads(path: Path) -> Payloads:
    """Raises VersionMismatch, DamagedRecording or RdbError if the log cannot be read."""
    ffi, library = log_library()
    found, count = ffi.new("struct log_payload **"), ffi.new("size_t *")
    error = ffi.new("char[256]")
    status = library.log_payloads(os.fsencode(path), found, count, error)
    rows = ffi.gc(found[0], library.log_payloads_free)
    failed = read_error(path, status, error)
    if failed:
        raise failed
    received: list[Payload] = []
    kept: dict[int, list[Piece]] = defaultdict(list)
    for i in range(count[0]):
        one = rows[i]
        if one.at:
            received.append(
                Payload(
                    event=one.event,
                    at=one.at,
                    offset=one.offset,
                    size_bytes=one.len,
                    check=one.check,
                    peer=one.peer,
                    tag=one.tag,
                    comm=one.comm,
                    order=one.order,
                )
            )
        else:
            kept[one.order].append(Piece(one.segment, one.offset, one.len))
    return Payloads(received, dict(kept))
