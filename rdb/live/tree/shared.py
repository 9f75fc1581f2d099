"""Memory that the processes of a tree share: their mappings at a cut, and where a cut can be.

See interposer/restart/memory/shared_again.h.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rdb.errors import RdbError
from rdb.recording import Kind, RankRecording, Record
from rdb.recording.log.record import Note

if TYPE_CHECKING:
    from rdb.live.tree.processes import Node, Tree

# x86-64 system calls
_MMAP, _MUNMAP, _MREMAP, _SHMGET, _SHMAT, _SHMCTL, _SHMDT = 9, 11, 25, 29, 30, 31, 67
_CALLS = (_MMAP, _MUNMAP, _MREMAP, _SHMAT, _SHMDT)
_IPC_RMID = 0
_SPAN, _OF = struct.Struct("<QQ"), struct.Struct("<QQQQQQ")  # struct rdb_note_shared_of
_PAGE = 4096
NAMED, SYSV, FILE = 2, 3, 4  # enum shared_kind
_STEPS = 1000
_KINDS = (
    *("anonymous memory", "a file without a name", "a file made to be shared"),
    *("System V shared memory", "a file"),
)


@dataclass(frozen=True)
class Region:
    start: int
    end: int
    dev: int
    ino: int
    offset: int
    kind: int
    known: int = 0
    """Number by which the program knows the segment (System V)."""
    removed: bool = False
    """Whether the segment was removed before the branch began (System V)."""

    @property
    def memory(self) -> tuple[int, int]:
        return self.dev, self.ino

    @property
    def what(self) -> str:
        return _KINDS[self.kind]


def mapped(node: Node, place: int) -> list[Region]:
    """The shared mappings of NODE at PLACE, inherited ones included, in order."""
    program, event = node.at(place)
    found: list[Region] = []
    if program == 0 and node.parent is not None and node.forked > 0:
        found = mapped(node.parent, node.forked - 1)
    elif program == 0 and node.born:
        found = _begun_with(node)
    recording = node.programs[program]
    index = recording.index
    for at in index.of_calls(*_CALLS):
        record = index.record(at)
        if record.event > event:
            break
        if record.result >= 0 or record.result < -4095:
            found = [*_left(found, record), *_made(record)]
    return sorted(found, key=lambda region: region.start)


def _begun_with(node: Node) -> list[Region]:
    """The shared mappings that a branch began with (interposer/restart/memory/shared_again.c)."""
    try:
        text = (node.programs[0].path / "shared-began").read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    if not text:
        raise RdbError(
            f"process {node.name} began with shared memory: it is a branch that an older rdb has "
            "made",
            "restart the job that it is a branch of",
        )
    found = []
    for line in text.splitlines():
        start, end, dev, ino, offset, kind, gone, known = map(int, line.split()[1:])
        found.append(Region(start, end, dev, ino, offset, kind, known, bool(gone)))
    return found


def _left(found: list[Region], record: Record) -> Iterator[Region]:
    """The mappings that remain after the call."""
    if record.nr == _SHMDT:
        yield from (one for one in found if one.start != record.args[0])
        return
    if record.nr in (_MUNMAP, _MREMAP):
        gone = (record.args[0], record.args[0] + _up(record.args[1]))
        if record.nr == _MREMAP and record.result == record.args[0]:
            gone = (gone[0] + _up(record.args[2]), gone[1])
    elif record.nr == _SHMAT:
        gone = next(iter(_spans(record)), (0, 0))
    else:
        gone = (record.result, record.result + _up(record.args[1]))
    for one in found:
        if one.end <= gone[0] or one.start >= gone[1]:
            yield one
            continue
        if one.start < gone[0]:
            yield replace(one, end=gone[0])
        if one.end > gone[1]:
            yield replace(one, start=gone[1], offset=one.offset + gone[1] - one.start)


def _up(size: int) -> int:
    return (size + _PAGE - 1) & ~(_PAGE - 1)


def _spans(record: Record) -> Iterator[tuple[int, int]]:
    for chunk in record.chunks:
        if not chunk.addr and chunk.note == Note.SHARED:
            start, end = _SPAN.unpack(chunk.data)
            yield start, end


def _made(record: Record) -> Iterator[Region]:
    if record.nr in (_MUNMAP, _SHMDT):
        return
    number = record.args[0] if record.nr == _SHMAT else 0
    known = [
        replace(Region(*_OF.unpack(chunk.data)), known=number)
        for chunk in record.chunks
        if not chunk.addr and chunk.note == Note.SHARED_OF
    ]
    if len(known) < len(list(_spans(record))):
        raise RdbError(
            "an older rdb made the recording: it does not say which memory was shared",
            "record it again",
        )
    yield from known


def removed(nodes: list[Node], places: Mapping[Node, int]) -> set[int]:
    """Segments of System V shared memory that one of NODES has removed at the cut."""
    found = set()
    for node in nodes:
        for number, program in enumerate(node.programs):
            for at in program.index.of_calls(_SHMCTL):
                record = program.index.record(at)
                removes = record.args[1] == _IPC_RMID and record.result == 0
                if removes and node.place(number, record.event) <= places[node]:
                    found.add(record.args[0])
    return found


def segments(nodes: list[Node], places: Mapping[Node, int]) -> set[int]:
    """Segments of System V shared memory that NODES knew at the cut.

    Segments that were removed before a branch began are left out.
    """
    born = {
        one.known
        for node in nodes
        if node.born and node.programs
        for one in _begun_with(node)
        if one.kind == SYSV and not one.removed
    }
    return born | {
        record.result
        for node in nodes
        for number, program in enumerate(node.programs)
        for at in program.index.of_calls(_SHMGET)
        if (record := program.index.record(at)).result >= 0
        and node.place(number, record.event) <= places[node]
    }


def next_record(node: Node, place: int) -> Record | None:
    """The record of the event after PLACE in the same program; None: there is none."""
    program, event = node.at(place)
    recording: RankRecording = node.programs[program]
    return recording.event(event + 1) if event < recording.last_event else None


def asks_for_a_call(node: Node, place: int) -> bool:
    """Whether the next event is a system call: there a process can be cut."""
    record = next_record(node, place)
    return record is None or record.kind is Kind.SYSCALL


def _lines(
    regions: list[Region],
    start: tuple[int, int, bool, int, int],
    segments_removed: set[int],
    again: set[tuple[int, int]],
) -> Iterator[str]:
    """The lines about one process for rdb-exec.

    START: the first event to follow; the last event before the cut; whether the next event is a
    system call; time of the cut; time of the branch's beginning, or 0. AGAIN: memory that is later
    opened by its name.
    """
    event, last, asks, at_ns, begun_ns = start
    yield f"from {event} {last} {int(asks)} {at_ns} {begun_ns}\n"
    for one in regions:
        gone = int(one.kind == SYSV and (one.removed or one.known in segments_removed))
        yield (
            f"region {one.start} {one.end} {one.dev} {one.ino} {one.offset} {one.kind} {gone} "
            f"{one.known} {int(one.memory in again)}\n"
        )


def _end_ns(node: Node) -> int:
    index = node.programs[-1].index
    places = index.of_kind(Kind.END)
    last = places[-1] if places else index.count - 1
    return int(index.record(last).at_ns)


def shares_memory(top: RankRecording, event: int) -> bool:
    """Whether the rank shares memory by EVENT, without regard to children."""
    index = top.index
    for at in index.of_calls(_MMAP, _MREMAP, _SHMGET, _SHMAT):
        record = index.record(at)
        if record.event > event:
            return False
        if record.nr == _SHMGET or any(True for _ in _spans(record)):
            return True
    return False


def shared_at(
    tree: Tree, places: dict[Node, int], lives: list[Node], ended: list[Node]
) -> dict[Node, list[str]]:
    """The lines for rdb-exec of each process that shares memory.

    Moves PLACES forward, a little, to events at which these processes can be cut.
    """
    at_ns = tree.main.at_ns(places[tree.main])
    having = {node: regions for node in lives if (regions := mapped(node, places[node]))}
    for node in having:
        if node is not tree.main:
            _check(node, places, at_ns)
            _go_on(tree, node, places)
    having = {node: mapped(node, places[node]) for node in having}
    named = {one.memory for of in having.values() for one in of if one.kind in (NAMED, FILE)}
    again = set(_mapped_later(tree, places, named))
    for node in ended:  # a node without programs had ended before the branch began
        if node.programs and not _seen_after(node, having, places):
            raise _refused(
                tree,
                places,
                f"no other process has read what process {node.name} stored before it ended",
            )
    gone = removed(tree.nodes, places)
    attached = {one.known for of in having.values() for one in of if one.kind == SYSV}
    if segments(tree.nodes, places) - gone - attached:
        raise _refused(
            tree, places, "a System V shared memory segment exists that no process has attached"
        )
    since_ns = min(
        (_waiting_since(node, places[node], at_ns) for node in having if node is not tree.main),
        default=at_ns,
    )
    begun_ns = tree.top.programs[0].event(0).at_ns
    return {
        node: list(
            _lines(
                regions,
                (
                    _last_by(node, places[node], since_ns),
                    _last_by(node, places[node], at_ns),
                    node is not tree.main,
                    at_ns,
                    begun_ns if node.born else 0,
                ),
                gone,
                again,
            )
        )
        for node, regions in having.items()
        if regions
    }


def _mapped_later(
    tree: Tree, places: Mapping[Node, int], memories: set[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Those of MEMORIES that a process maps again later, by name."""
    for node in tree.nodes if memories else []:
        for number, program in enumerate(node.programs):
            index = program.index
            for at in index.of_calls(_MMAP):
                if node.place(number, index.brief(at)[1]) <= places[node]:
                    continue
                record = index.record(at)
                yield from (one.memory for one in _made(record) if one.memory in memories)


def _waiting_since(node: Node, place: int, at_ns: int) -> int:
    """The time of the last event before the cut; the cut itself, if NODE is known to have asked for
    its next call before, and so to have stored nothing since.
    """
    program, last = node.at(place)[0], _last_by(node, place, at_ns)
    record = next_record(node, node.place(program, last))
    asked = [] if record is None else [one for one in record.chunks if one.note == Note.ASKED]
    if any(not one.addr and int.from_bytes(one.data, "little") <= at_ns for one in asked):
        return at_ns
    return min(at_ns, int(node.programs[program].event(last).at_ns))


def _refused(tree: Tree, places: dict[Node, int], why: str) -> RdbError:
    _, event = tree.main.at(places[tree.main])
    return RdbError(
        f"rank {tree.top.name} cannot be restarted at event {event}: {why}",
        "choose another event",
    )


def _check(node: Node, places: dict[Node, int], at_ns: int) -> None:
    """Refuses a process that had heard of later events: others may have seen its later stores."""
    following = next_record(node, places[node])
    if following is not None and following.at_ns <= at_ns:
        raise RdbError(
            f"process {node.name} shares memory and depends on what other processes did later",
            "choose another event",
        )


def _go_on(tree: Tree, node: Node, places: dict[Node, int]) -> None:
    for _ in range(_STEPS):
        if asks_for_a_call(node, places[node]):
            return
        further = {**places, node: places[node] + 1}
        if tree.closed(further) != further:
            return  # the caller says where it reaches no call
        places[node] += 1


def _last_by(node: Node, place: int, at_ns: int) -> int:
    """The last event before AT_NS, of the program that NODE runs at PLACE."""
    program, event = node.at(place)
    seen = node.by_time(at_ns)
    return min(event, node.at(seen)[1]) if seen >= node.bases[program] else 0


def _seen_after(node: Node, having: Mapping[Node, list[Region]], places: dict[Node, int]) -> bool:
    """Whether what the ended process NODE stored was seen by a process that looked later."""
    memories = {one.memory for one in mapped(node, node.over - 1)}
    end_ns = _end_ns(node)
    for memory in memories:
        looked = [
            _looked_ns(other, places[other])
            for other, regions in having.items()
            if any(one.memory == memory for one in regions)
        ]
        if looked and max(looked) < end_ns:
            return False
    return True


def _looked_ns(node: Node, place: int) -> int:
    program, event = node.at(place)
    return int(node.programs[program].event(event).at_ns)
