"""Calls that close and duplicate descriptors, and what they do to a table of descriptors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from rdb.recording.log.record import Record

# x86-64 system calls (syscalls(2))
CLOSE, CLOSE_RANGE, DUP, DUP2, DUP3, FCNTL = 3, 436, 32, 33, 292, 72
CALLS = (CLOSE, CLOSE_RANGE, DUP, DUP2, DUP3, FCNTL)
F_DUPFD, F_DUPFD_CLOEXEC = 0, 1030
RANGE_CLOEXEC = 4  # the flag of close_range(2) with which it closes nothing yet

_Entry = TypeVar("_Entry")


def changes(record: Record, numbers: Iterable[int]) -> list[tuple[int, int | None]]:
    """The descriptors that a call which succeeded has set, each with the one that it duplicates.

    None: it is closed.  NUMBERS: the descriptors that are known to be open.
    """
    nr, args = record.nr, record.args
    if nr == CLOSE:
        return [(args[0], None)]
    if nr == CLOSE_RANGE and not args[2] & RANGE_CLOEXEC:
        return [(one, None) for one in numbers if args[0] <= one <= args[1]]
    duplicates = nr in (DUP, DUP2, DUP3) or (nr == FCNTL and args[1] in (F_DUPFD, F_DUPFD_CLOEXEC))
    if duplicates and record.result != args[0]:
        return [(record.result, args[0])]
    return []


def follow(numbers: dict[int, _Entry], record: Record) -> list[_Entry]:
    """Changes the table NUMBERS as a call that succeeded did; returns entries that were removed."""
    removed = []
    for number, source in changes(record, numbers):
        if number in numbers:
            removed.append(numbers.pop(number))
        if source in numbers:
            numbers[number] = numbers[source]
    return removed
