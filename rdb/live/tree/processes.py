"""The processes of a program that is to be restarted, and the dependences between their events.

A process has a recording for each program that it ran (execve). A place is one number for all of
them: the events of the first program, then those of the next; after the last one, the end.
"""

from __future__ import annotations

import signal
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from rdb.errors import RdbError
from rdb.live.tree.born import children_before, is_born, read_born
from rdb.live.tree.open_files import Held, HeldKind, Operation, follow
from rdb.recording import EndKind, Kind, RankRecording, Record
from rdb.recording.log.record import Note
from rdb.recording.processes import child_numbers

# x86-64 system calls
_FORK = (56, 57, 58, 435)
_VFORK, _CLONE, _CLONE_VFORK = 58, 56, 0x4000
_WAIT4, _WAITID, _KILL = 61, 247, 62
_P_PID, _WEXITED, _WNOWAIT = 1, 4, 0x01000000  # waitid(2)
_ENDS = 15  # WNOHANG, WSTOPPED, WEXITED, WCONTINUED
_CHLD = signal.SIGCHLD.value
_ENDED = (1, 2, 3)  # CLD_EXITED, CLD_KILLED, CLD_DUMPED
_INFO = struct.Struct("<iiiiiI")  # siginfo_t: signo, errno, code, -, pid, uid
_READ_INFO, _READ_INFO_BYTES = struct.Struct("<IiiI"), 128  # signalfd_siginfo
_SIGTIMEDWAIT = 128
NOT_YET = -1


@dataclass(eq=False)
class Node:
    """A process."""

    number: int
    name: str
    programs: list[RankRecording]
    parent: Node | None = None
    forked: int = 0
    """Place in the parent at which it was made."""
    fork_event: int = 0
    pid: int = 0
    child: int = 0
    """N of the directory child-N."""
    program_of_parent: int = 0
    children: list[Node] = field(default_factory=list)
    born: bool = False
    """Whether it existed when a branch began."""
    ended: int | None = None
    """Exit status, if it had ended when the branch began."""
    group: int = 0
    session: int = 0
    """`group` and `session` are known only if it is born."""

    def __post_init__(self) -> None:
        self.bases = [0]
        for one in self.programs:
            self.bases.append(self.bases[-1] + one.last_event + 1)

    @property
    def over(self) -> int:
        """The place of its end."""
        return self.bases[-1]

    def place(self, program: int, event: int) -> int:
        return self.bases[program] + event

    def at(self, place: int) -> tuple[int, int]:
        """Program and event at PLACE; for the end, the last ones."""
        place = min(place, self.over - 1)
        program = max(k for k in range(len(self.programs)) if self.bases[k] <= place)
        return program, place - self.bases[program]

    @property
    def status(self) -> int:
        """Its exit status, as wait(2) returns it."""
        if self.ended is not None:
            return self.ended
        end = self.programs[-1].end
        if end is None:
            return signal.SIGKILL.value
        if end.kind is EndKind.SIGNAL:
            return end.value
        return (end.value & 0xFF) << 8

    def walk(self) -> Iterator[Node]:
        yield self
        for one in self.children:
            yield from one.walk()

    def at_ns(self, place: int) -> int:
        program, event = self.at(place)
        return self.programs[program].event(event).at_ns

    def by_time(self, at_ns: int) -> int:
        """Its last place before AT_NS; its end, if the log says that it had ended."""
        place = NOT_YET
        for number, program in enumerate(self.programs):
            for record in program.records():
                if record.at_ns > at_ns:
                    return place
                if record.kind.is_event:
                    place = self.place(number, record.event + record.repeat)
                elif record.kind is Kind.END and number == len(self.programs) - 1:
                    place = self.over
        return place  # a killed process logs no end; only others know when it ended


@dataclass(frozen=True, slots=True)
class Taken:
    """A signal that was delivered to a process, or taken by sigwaitinfo(2) or from a signalfd."""

    place: int
    at_ns: int
    signal: int
    code: int
    sender: int


class Tree:
    """All processes below one process of a rank."""

    def __init__(self, main: RankRecording, programs: Sequence[RankRecording] = ()) -> None:
        """MAIN: the program that the cut is in.  PROGRAMS: those of the rank's own process, oldest
        first, if the tree begins with them; MAIN may be a descendant's.
        """
        programs = programs or [main]
        self.top = Node(0, str(main.rank), list(programs), pid=programs[-1].known_pid)
        self.nodes = [self.top]
        self.told: dict[Node, int] = {}
        """The place at which its parent received SIGCHLD for it."""
        if is_born(self.top.programs[0].path):
            self._add_born()
        for node in list(self.nodes):
            self._add(node)
        self.main, self.main_program = next(
            (node, number)
            for node in self.nodes
            for number, one in enumerate(node.programs)
            if one.path == main.path
        )
        self.needs: dict[Node, list[tuple[int, Node, int]]] = defaultdict(list)
        """A place of the node, and another node with the place that it must have reached."""
        self.waited: dict[Node, int] = {}
        """The place at which its parent had waited for it."""
        self.reaped: dict[Node, tuple[Node, int]] = {}
        """The process, not its parent, that waited for it, and where."""
        self.signals: list[tuple[Node, int, int, Node, int]] = []
        """Sender, place, time, receiver, signal number."""
        followed = follow(self.top, {})
        self.held, self.operations = followed.ends, followed.operations
        self.connections = followed.connections
        self.taken = {node: list(_waited_signals(node)) for node in self.nodes}
        """The signals that each process took, in order."""
        for held, operations in self.operations.items():
            if held.kind is HeldKind.SIGNALS:
                for one in operations:
                    self.taken[one.node].extend(_read_signals(one))
        for taken in self.taken.values():
            taken.sort(key=lambda one: one.place)
        for node in self.nodes:
            self._send(node)
        for node in self.nodes:
            self._order(node)
        for connection in self.connections.values():
            for acceptor, accepted, _ in connection.accepted:
                for connector, connected, _ in connection.connected:
                    if acceptor is not connector:
                        self.needs[acceptor].append((accepted, connector, connected))
        for operations in self.operations.values():
            if operations[0].held.pipe:
                self._order_pipe(operations)
            elif operations[0].held.kind is HeldKind.COUNTER:
                self._order_counter(operations)
            elif operations[0].held.kind in (HeldKind.FILE, HeldKind.TIMER):
                self._order_moves(operations)

    def _add_born(self) -> None:
        """Adds the processes that a branch began with; they come first in the tree."""
        born = read_born(self.top.programs[0].path)
        if born is None:
            raise RdbError(
                f"rank {self.top.name} began with other processes: it is a branch that an older "
                "rdb has made",
                "restart the job that it is a branch of",
            )
        for number, (one, known) in enumerate(born):
            if one.parent < 0:
                self.top.pid = known.pid
                self.top.born, self.top.group, self.top.session = True, known.group, known.session
                continue
            parent = self.nodes[one.parent]
            name = f"{parent.name}.{len(parent.children) + 1}"
            folder = parent.programs[0].path / f"child-{one.child}"
            if one.orphan:
                raise RdbError(
                    f"rank {self.top.name} is a branch that began with a process, {name}, whose "
                    "parent had ended",
                    "restart the job that it is a branch of",
                )
            node = Node(
                number,
                name,
                list(programs_of(folder, self.top.programs[0].files_dir, name))
                if one.lives
                else [],
                parent,
                pid=known.pid,
                child=one.child,
                born=True,
                ended=None if one.lives else one.status,
                group=known.group,
                session=known.session,
            )
            if one.lives and not node.programs:
                raise RdbError(f"process {name} of rank {self.top.name} has no recording")
            self.nodes.append(node)
            parent.children.append(node)
            if one.told:
                self.told[node] = 0

    def _add(self, node: Node) -> None:
        there = {one.child for one in node.children if one.born}
        for program, recording in enumerate(node.programs):
            forks = list(forks_of(recording))
            before = children_before(recording.path)
            for child in child_numbers(recording.path):
                if child <= before or (not program and child in there):
                    continue
                if child - before > len(forks) or forks[child - before - 1].result <= 0:
                    continue
                made = forks[child - before - 1]
                name = f"{node.name}.{len(node.children) + 1}"
                one = Node(
                    len(self.nodes),
                    name,
                    list(programs_of(recording.path / f"child-{child}", recording.files_dir, name)),
                    node,
                    node.place(program, made.event),
                    made.event,
                    made.result,
                    child,
                    program,
                )
                self.nodes.append(one)
                node.children.append(one)
                self._add(one)

    def _order(self, node: Node) -> None:
        if node.parent is not None:
            self.needs[node].append((0, node.parent, node.forked))
            self.needs[node.parent].append((node.forked, node, 0))
        if node.parent is not None and not node.born:
            record = node.parent.programs[node.program_of_parent].event(node.fork_event)
            waits = record.nr == _VFORK or (record.nr == _CLONE and record.args[0] & _CLONE_VFORK)
            if waits:
                gone = node.bases[1] if len(node.programs) > 1 else node.over
                self.needs[node.parent].append((node.forked, node, gone))
        living = {one.pid: one for one in node.children}
        everybody = self._everybody()
        got: dict[tuple[Node, int], int] = defaultdict(int)
        for number, program in enumerate(node.programs):
            for place in program.index.of_calls(_WAIT4, _WAITID):
                record = program.index.record(place)
                where = node.place(number, record.event)
                pid = _waited_for(record)
                if pid in living:
                    self.waited[living[pid]] = where
                    self.needs[node].append((where, living[pid], living[pid].over))
                elif pid in everybody:
                    self.reaped[everybody[pid]] = node, where
                    self.needs[node].append((where, everybody[pid], everybody[pid].over))
        for one in self.taken[node]:
            other = everybody.get(one.sender)
            if other is not None:
                got[other, one.signal] += 1
                self._order_signal(node, one, other, got[other, one.signal])

    def _everybody(self) -> dict[int, Node]:
        return {one.pid: one for one in self.nodes if one.pid}

    def _send(self, node: Node) -> None:
        everybody = self._everybody()
        for number, program in enumerate(node.programs):
            for place in program.index.of_calls(_KILL):
                record = program.index.record(place)
                if record.result == 0:
                    where = node.place(number, record.event)
                    self._order_sent(node, where, record, everybody.get(record.args[0]))

    def _order_sent(self, node: Node, where: int, record: Record, whom: Node | None) -> None:
        """A signal to a group counts as sent to all; only those that received it later matter."""
        group = record.args[0] == 0 or record.args[0] >> 31 & 1
        for other in self.nodes if group else [whom] if whom else []:
            if other is not node or not group:
                self.signals.append((node, where, record.at_ns, other, record.args[1]))

    def _order_signal(self, node: Node, taken: Taken, other: Node, number: int) -> None:
        """NUMBER: how many such signals NODE has taken from OTHER, this one included."""
        if taken.signal == _CHLD and taken.code in _ENDED:
            self.told.setdefault(other, taken.place)
            self.needs[node].append((taken.place, other, other.over))
        elif taken.code == 0:  # SI_USER
            until = NOT_YET
            for sender, at, at_ns, whom, which in self.signals:
                if sender is not other or whom is not node or which != taken.signal:
                    continue
                number -= 1
                # the answer of a call that had begun by then may be logged later
                if at_ns <= taken.at_ns or (number >= 0 and begun_ns(other, at) <= taken.at_ns):
                    until = at
            if until != NOT_YET:
                self.needs[node].append((taken.place, other, until))

    def _order_pipe(self, operations: list[Operation]) -> None:
        """A read needs the writes of its bytes; a read at the end needs all writers to be gone."""
        writes = [one for one in operations if one.writes]
        total, done, read = operations[0].held.had_bytes, 0, 0
        newest: dict[Node, int] = {}
        readers: dict[Node, int] = {}
        for one in operations:
            if one.writes:
                continue
            if not one.size:
                self._order_end(one, [other for other in writes if other.shuts])
                continue
            read += one.size
            while total < read and done < len(writes):
                newest[writes[done].node] = writes[done].place
                total += writes[done].size
                done += 1
            for node, place in (*newest.items(), *readers.items()):
                self._need(one, node, place)
            readers[one.node] = one.place

    def _order_end(self, one: Operation, shuts: list[Operation]) -> None:
        """ONE found the end: no process can write any more."""
        for other in shuts:
            if begun_ns(other.node, other.place) <= one.at_ns:
                self._need(one, other.node, other.place)
                return
        for node, until in self.held[one.held].writers.items():
            self._need(one, node, until)

    def _order_counter(self, operations: list[Operation]) -> None:
        """A read needs all writes that had begun before its answer."""
        writes = sorted(
            (begun_ns(one.node, one.place), one.node.number, one.place, one.node)
            for one in operations
            if one.writes
        )
        newest: dict[Node, int] = {}
        done = 0
        for one in operations:
            if one.writes:
                continue
            while done < len(writes) and writes[done][0] <= one.at_ns:
                newest[writes[done][3]] = max(newest.get(writes[done][3], 0), writes[done][2])
                done += 1
            for node, place in newest.items():
                self._need(one, node, place)

    def _order_moves(self, operations: list[Operation]) -> None:
        """An operation that moves the offset depends on all earlier ones.

        If two overlap, nobody knows which came first, so each needs the other.
        """
        for before, one in pairwise(operations):
            if before.node is one.node or not (before.moves or one.moves):
                continue
            self._need(one, before.node, before.place)
            if begun_ns(one.node, one.place) < before.at_ns:
                self._need(before, one.node, one.place)

    def _need(self, one: Operation, node: Node, place: int) -> None:
        if node is not one.node:
            self.needs[one.node].append((one.place, node, place))

    def closed(self, places: Mapping[Node, int]) -> dict[Node, int]:
        """The earliest consistent cut that is not before PLACES."""
        places = dict(places)
        moved = True
        while moved:
            moved = False
            for node in self.nodes:
                for place, other, until in self.needs[node]:
                    if place <= places[node] and places[other] < until:
                        places[other] = until
                        moved = True
        return places

    def back(self, places: dict[Node, int], least: Mapping[Node, int]) -> None:
        """Moves PLACES back, but not before LEAST, until no place depends on something later."""
        moved = True
        while moved:
            moved = False
            for node in self.nodes:
                for place, other, until in self.needs[node]:
                    if place <= places[node] and places[other] < until:
                        places[node] = max(place - 1, least[node])
                        moved = True


def forks_of(recording: RankRecording) -> Iterator[Record]:
    """The calls that make a process; children are numbered by these, failed ones included."""
    index = recording.index
    for place in index.of_calls(*_FORK):
        record = index.record(place)
        thread = record.nr == _CLONE and record.args[0] & 0x10000
        if not thread and not any(
            chunk.addr == 0 and chunk.note == Note.THREAD for chunk in record.chunks
        ):
            yield record


def programs_of(folder: Path, files_dir: Path, name: str) -> Iterator[RankRecording]:
    while (folder / "log-000000.seg").exists():
        yield RankRecording(folder, files_dir, name)
        folder = folder / "exec"


def own_programs(program: RankRecording) -> list[RankRecording]:
    """The programs of the rank's own process, below which PROGRAM ran, oldest first."""
    top = program.path
    while top.name == "exec" or top.name.startswith("child-"):
        top = top.parent
    return list(programs_of(top, program.files_dir, program.name))


def folders_before(top: Path) -> Iterator[Path]:
    """The recordings of the programs that the process of TOP ran before (execve), newest first."""
    while top.name == "exec":
        top = top.parent
        yield top


def begun_ns(node: Node, place: int) -> int:
    """When the event before was answered: a lower bound for the beginning of this one."""
    program, event = node.at(place)
    return node.programs[program].event(event - 1).at_ns if event > 1 else 0


def _waited_signals(node: Node) -> Iterator[Taken]:
    for number, program in enumerate(node.programs):
        index = program.index
        for place in index.of_kind(Kind.SIGNAL):
            record = index.record(place)
            args = struct.pack(f"<{len(record.args)}Q", *record.args)
            yield _taken(
                node.place(number, record.event), record, _INFO.unpack_from(args), record.nr
            )
        for place in index.of_calls(_SIGTIMEDWAIT):
            record = index.record(place)
            if record.result > 0:
                there = record.args[1]
                info = record.written(there, _INFO.size) if there else bytes(_INFO.size)
                where = node.place(number, record.event)
                yield _taken(where, record, _INFO.unpack(info), record.result)


def _taken(where: int, record: Record, info: tuple[int, ...], number: int) -> Taken:
    return Taken(where, record.at_ns, number, info[2], info[4])


def _read_signals(one: Operation) -> Iterator[Taken]:
    """The signals that a read from a signalfd returned."""
    program, event = one.node.at(one.place)
    record = one.node.programs[program].event(event)
    data = record.written(record.args[1], record.result)
    for at in range(0, record.result - _READ_INFO_BYTES + 1, _READ_INFO_BYTES):
        number, _, code, pid = _READ_INFO.unpack_from(data, at)
        yield Taken(one.place, one.at_ns, number, code, pid)


def _waited_for(record: Record) -> int:
    if record.result < 0:
        return 0
    if record.nr == _WAIT4:
        return record.result
    options = record.args[3]
    if options & _WNOWAIT:
        return 0
    if not record.args[2]:  # the call says only that it succeeded
        return record.args[1] if record.args[0] == _P_PID and options & _ENDS == _WEXITED else 0
    info: tuple[int, ...] = _INFO.unpack(record.written(record.args[2], _INFO.size))
    return info[4]


__all__ = ["NOT_YET", "Held", "Node", "Tree", "begun_ns", "forks_of", "own_programs", "programs_of"]
