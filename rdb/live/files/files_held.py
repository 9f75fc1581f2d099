"""Which files a process has open for writing at an event, by their paths."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from rdb.live.files.files_before import changes_of
from rdb.live.tree.processes import Node, Tree
from rdb.recording import RankRecording
from rdb.recording.log.record import Record

# x86-64 system calls
_OPENS = (2, 257, 85)
_CLOSE, _CLOSE_RANGE, _DUP, _DUP2, _DUP3, _FCNTL = 3, 436, 32, 33, 292, 72
_DUPS = (0, 1030)  # F_DUPFD, F_DUPFD_CLOEXEC
_RANGE_CLOEXEC = 4
WRITES = (1, 18, 20, 296, 328, 40, 275, 326, 285, 77)  # and ftruncate
INTO = {275: 2, 326: 2}  # splice, copy_file_range: which argument is written to
CALLS = (*_OPENS, _CLOSE, _CLOSE_RANGE, _DUP, _DUP2, _DUP3, _FCNTL)


class Opening(NamedTuple):
    path: str
    program: str
    event: int


def held(
    programs: Iterable[tuple[RankRecording, int]], begun: Mapping[int, Opening]
) -> dict[int, Opening]:
    """PROGRAMS: that the process has been, and up to where; BEGUN: numbers that it began with.  One
    that an execve(2) has closed may be among them."""
    numbers = dict(begun)
    for recording, until in programs:
        paths = {
            one.event: Opening(one.path, str(recording.path), one.event)
            for one in changes_of(recording, 0)
            if one.opens
        }
        index = recording.index
        for place in index.of_calls(*CALLS):
            record = index.record(place)
            if record.event > until:
                break
            if record.result >= 0:
                follow_number(numbers, record, paths.get(record.event))
    return numbers


def follow_number(numbers: dict[int, Opening], record: Record, path: Opening | None) -> None:
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


def _put(numbers: dict[int, Opening], number: int, path: Opening | None) -> None:
    numbers.pop(number, None)
    if path is not None:
        numbers[number] = path


def held_by(node: Node, place: int) -> dict[int, Opening]:
    """The same of a process of a tree, with what its parent had open when it was forked."""
    begun = held_by(node.parent, node.forked) if node.parent is not None else {}
    return held(((one, place - node.bases[k]) for k, one in enumerate(node.programs)), begun)


def written_by_others(tree: Tree, lives: Collection[Node], at_ns: int) -> set[Opening]:
    """Files that processes which are over by then wrote to, by descriptors of their parents."""
    found: set[Opening] = set()
    for node in tree.nodes:
        if node.parent is None or node in lives:
            continue
        begun = held_by(node.parent, node.forked)
        for program in node.programs if begun else []:
            index = program.index
            for place in index.of_calls(*WRITES):
                record = index.record(place)
                number = record.args[INTO.get(record.nr, 0)]
                if record.at_ns <= at_ns and record.result >= 0 and number in begun:
                    found.add(begun[number])
    return found
