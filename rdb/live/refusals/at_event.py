"""What a program has at an event that a restart cannot bring back, as far as its log shows.

`--plan` says this without a replay. The replay itself may refuse more (interposer/restart/live).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from rdb.live import descriptors
from rdb.recording import RankRecording
from rdb.recording.log.describe import mpi_functions
from rdb.recording.log.record import Note, Record

# x86-64 system calls (syscalls(2))
_MMAP, _MUNMAP, _MREMAP, _SHMAT, _SHMDT = 9, 11, 25, 30, 67
_OTHERS = {
    253: "an inotify queue",
    294: "an inotify queue",
    298: "a perf_event",
    437: "opened by openat2(2)",
    240: "a message queue",
}  # interposer/restart/files/reopen.c
_CALLS = (*_OTHERS, *descriptors.CALLS)
_IPC = {64: "semaphores", 68: "a message queue"}  # semget, msgget
# semctl, msgctl: the call that made the object, and which argument is the command
_REMOVES = {66: (64, 2), 71: (68, 1)}
_IPC_RMID = 0
_SPAN = struct.Struct("<QQ")


def refused(
    recording: RankRecording, cut: int, *, shares: bool = False, of_tree: bool = False
) -> list[str]:
    """A line for each object that cannot be brought back, with the event that made it.

    SHARES: the caller handles shared memory. OF_TREE: the caller handles objects of System V IPC.
    """
    at = f"rank {recording.name} cannot be restarted at event {cut}"
    return [
        f"{at}: {what} (event {event})"
        for what, event in (
            *_objects(recording, cut, shares, of_tree),
            *_unknown_calls(recording, cut),
        )
    ]


def _objects(
    recording: RankRecording, cut: int, shares: bool, of_tree: bool
) -> Iterator[tuple[str, int]]:
    numbers: dict[int, tuple[str, int]] = {}
    for record in _calls(recording, cut, _CALLS):
        if record.result < 0:
            continue
        if record.nr in _OTHERS:
            numbers[record.result] = (_OTHERS[record.nr], record.event)
        else:
            descriptors.follow(numbers, record)
    if not of_tree:
        yield from system_v([(recording, cut)])
    for number, (what, event) in sorted(numbers.items()):
        yield f"its descriptor {number} is {what}", event
    if shares:
        return
    windows = _windows(recording, cut)
    shared = {one: event for one, event in _shared(recording, cut).items() if one[0] not in windows}
    if shared:
        yield "it has shared memory", max(shared.values())


def system_v(programs: Iterable[tuple[RankRecording, int]]) -> list[tuple[str, int]]:
    """Objects of System V IPC that the programs use at the cut and have not removed.

    They belong to the kernel, and hold what they hold now.
    """
    there: dict[tuple[int, int], int] = {}
    calls = [record for one, cut in programs for record in _calls(one, cut, (*_IPC, *_REMOVES))]
    for record in sorted(calls, key=lambda one: one.at_ns):
        if record.result < 0:
            continue
        if record.nr in _IPC:
            there[record.nr, record.result] = record.event
        elif record.args[_REMOVES[record.nr][1]] & 0xFFFF == _IPC_RMID:
            there.pop((_REMOVES[record.nr][0], record.args[0]), None)
    return [(f"it has {_IPC[number]} of System V", event) for (number, _), event in there.items()]


def _shared(recording: RankRecording, cut: int) -> dict[tuple[int, int], int]:
    """First and last address of each shared mapping -> the event that made it."""
    mapped: dict[tuple[int, int], int] = {}
    for record in _calls(recording, cut, (_MMAP, _MUNMAP, _MREMAP, _SHMAT, _SHMDT)):
        if record.result < 0:
            continue
        if record.nr == _SHMDT:
            gone = range(record.args[0], record.args[0] + 1)
        elif record.nr in (_MUNMAP, _MREMAP):
            gone = range(record.args[0], record.args[0] + record.args[1])
        else:
            gone = range(record.result, record.result + record.args[1])
        for one in [one for one in mapped if one[0] in gone]:
            del mapped[one]
        for chunk in record.chunks:
            if not chunk.addr and chunk.note == Note.SHARED and len(chunk.data) == _SPAN.size:
                mapped[_SPAN.unpack(chunk.data)] = record.event
    return mapped


def _windows(recording: RankRecording, cut: int) -> set[int]:
    """Addresses of windows of MPI_Win_allocate_shared, whose memory a restart maps again.

    Two calls make such a window; the second one has the address.
    """
    names = {int(one["nr"]): str(one["name"]) for one in mpi_functions()}
    making = frozenset(nr for nr, name in names.items() if name == "MPI_Win_allocate_shared")
    found = set()
    for place in recording.index.of_hypercalls(making):
        record = recording.index.record(place)
        if record.event <= cut and not record.result and record.args[7]:
            found.add(record.args[7])
    return found


def _unknown_calls(recording: RankRecording, cut: int) -> Iterator[tuple[str, int]]:
    """MPI calls with effects that rdb does not know; only the first is reported."""
    names = {int(one["nr"]): one["name"] for one in mpi_functions() if not one["restarts"]}
    for place in recording.index.of_hypercalls(frozenset(names)):
        record = recording.index.record(place)
        if record.event <= cut:
            yield f"{names[record.nr]}: what it does cannot be brought back", record.event
        return


def _calls(recording: RankRecording, cut: int, numbers: tuple[int, ...]) -> Iterator[Record]:
    for place in recording.index.of_calls(*numbers):
        record = recording.index.record(place)
        if record.event > cut:
            return
        yield record
