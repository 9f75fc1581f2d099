"""Which files a process has open for writing at an event, by their paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from rdb.live.files_before import changes_of
from rdb.recording import RankRecording
from rdb.recording.record import Record

# x86-64 system calls
_OPENS = (2, 257, 85)
_CLOSE, _CLOSE_RANGE, _DUP, _DUP2, _DUP3, _FCNTL = 3, 436, 32, 33, 292, 72
_DUPS = (0, 1030)  # F_DUPFD, F_DUPFD_CLOEXEC
_RANGE_CLOEXEC = 4


def held(programs: Iterable[tuple[RankRecording, int]], begun: Mapping[int, str]) -> dict[int, str]:
    """PROGRAMS: that the process has been, and up to where; BEGUN: numbers that it began with.  One
    that an execve(2) has closed may be among them."""
    numbers = dict(begun)
    for recording, until in programs:
        paths = {one.event: one.path for one in changes_of(recording, 0) if one.opens}
        index = recording.index
        for place in index.of_calls(*_OPENS, _CLOSE, _CLOSE_RANGE, _DUP, _DUP2, _DUP3, _FCNTL):
            record = index.record(place)
            if record.event > until:
                break
            if record.result >= 0:
                _follow(numbers, record, paths.get(record.event))
    return numbers


def _follow(numbers: dict[int, str], record: Record, path: str | None) -> None:
    args, nr = record.args, record.nr
    if nr in _OPENS:
        _put(numbers, record.result, path)
    elif nr == _CLOSE:
        numbers.pop(args[0], None)
    elif nr == _CLOSE_RANGE and not args[2] & _RANGE_CLOEXEC:
        for number in [one for one in numbers if args[0] <= one <= args[1]]:
            del numbers[number]
    elif nr in (_DUP, _DUP2, _DUP3) or (nr == _FCNTL and args[1] in _DUPS):
        _put(numbers, record.result, numbers.get(args[0]))


def _put(numbers: dict[int, str], number: int, path: str | None) -> None:
    numbers.pop(number, None)
    if path is not None:
        numbers[number] = os.path.normpath(path)
