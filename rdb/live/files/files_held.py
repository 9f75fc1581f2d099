"""Which files a process has open at an event, by path and by the call that opened them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from rdb.live import descriptors
from rdb.live.files.files_before import changes_of
from rdb.live.tree.processes import Node, Tree
from rdb.recording import RankRecording
from rdb.recording.log.record import Record

# x86-64 system calls
_OPENS = (2, 257, 85)
WRITES = (1, 18, 20, 296, 328, 40, 275, 326, 285, 77)  # and ftruncate
INTO = {275: 2, 326: 2}  # splice, copy_file_range: which argument is written to
CALLS = (*_OPENS, *descriptors.CALLS)
_BETWEEN = {40: (1, 0), 275: (0, 2), 326: (0, 2)}  # sendfile, splice, copy_file_range: from, to


class Opening(NamedTuple):
    path: str
    program: str
    event: int


def held(
    programs: Iterable[tuple[RankRecording, int]], begun: Mapping[int, Opening]
) -> dict[int, Opening]:
    """The open files of a process, by descriptor.

    PROGRAMS: the programs of the process, each with its last event. BEGUN: descriptors at its
    start. The result may contain descriptors that an execve(2) has closed.
    """
    numbers = dict(begun)
    for recording, until in programs:
        paths = _openings(recording)
        index = recording.index
        for place in index.of_calls(*CALLS):
            record = index.record(place)
            if record.event > until:
                break
            if record.result >= 0:
                follow_number(numbers, record, paths.get(record.event))
    return numbers


def _openings(recording: RankRecording) -> dict[int, Opening]:
    """By the event of the call."""
    return {
        one.event: Opening(one.path, str(recording.path), one.event)
        for one in changes_of(recording, 0)
        if one.opens
    }


def follow_number(numbers: dict[int, Opening], record: Record, path: Opening | None) -> None:
    if record.nr not in _OPENS:
        descriptors.follow(numbers, record)
    elif path is not None:
        numbers[record.result] = path
    else:
        numbers.pop(record.result, None)


def filled_from_elsewhere(recording: RankRecording, until: int) -> set[str]:
    """Files into which calls by event UNTIL have copied from what this program had not open for
    writing: a replay does not know these bytes (restart/files/moves.c).
    """
    found: set[str] = set()
    index = recording.index
    if not any(True for _ in index.of_calls(*_BETWEEN)):
        return found
    numbers: dict[int, Opening] = {}
    paths = _openings(recording)
    for place in index.of_calls(*CALLS, *_BETWEEN):
        record = index.record(place)
        if record.event > until:
            break
        if record.result < 0:
            continue
        if record.nr not in _BETWEEN:
            follow_number(numbers, record, paths.get(record.event))
            continue
        source, into = (record.args[k] for k in _BETWEEN[record.nr])
        if into in numbers and source not in numbers:
            found.add(numbers[into].path)
    return found


def held_by(node: Node, place: int) -> dict[int, Opening]:
    """The same for a process of a tree at PLACE; it starts with its parent's descriptors."""
    begun = held_by(node.parent, node.forked) if node.parent is not None else {}
    return held(((one, place - node.bases[k]) for k, one in enumerate(node.programs)), begun)


def written_by_others(tree: Tree, lives: Collection[Node], at_ns: int) -> set[Opening]:
    """Files to which processes that have ended by AT_NS wrote through inherited descriptors."""
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
