"""Plans the restart of a program with child processes.

The plan says where each process is at the cut; files tell it to rdb-exec
(interposer/restart/tree/tree.h).
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rdb.errors import RdbError
from rdb.launch.command import rdb_exec_line
from rdb.live.refusals.at_event import refused, system_v
from rdb.live.tree.born import (
    PID_ENTRY,
    BornNode,
    born_numbers,
    born_sockets,
    children_before,
    is_born,
    write_born,
)
from rdb.live.tree.open_files import Connection, Ends, Held, HeldKind, follow
from rdb.live.tree.processes import (
    NOT_YET,
    Node,
    Tree,
    begun_ns,
    folders_before,
    forks_of,
    programs_of,
)
from rdb.live.tree.reapers import reapers_refused
from rdb.live.tree.shared import shared_at, shares_memory
from rdb.private import make_directory, opener
from rdb.recording import EndKind, RankRecording
from rdb.recording.log.record import NEVER
from rdb.recording.processes import child_numbers

_HEAD, _ENTRIES, _REST_BYTES = struct.Struct("<IIII"), 256, 3 * 8 + 4096 * 4  # struct pids


@dataclass(frozen=True)
class TreePlan:
    """Where each process is at the cut, and what the restart makes of it."""

    tree: Tree
    places: dict[Node, int]
    lives: list[Node]
    zombies: list[Node]
    ghosts: list[Node]
    """Ended processes that were waited for, or whose parent had ended."""
    counts: set[Node]
    """Ended processes that are replayed: others have open what they changed, or their children
    live."""
    told: set[Node]
    """Zombies whose parent has received SIGCHLD."""
    shared: dict[Node, list[str]]
    """The lines for rdb-exec of each process that shares memory."""

    def adopter(self, node: Node) -> Node | None:
        """The process below whose recording an orphan's is put; None: NODE is no orphan."""
        if node.parent is None or node.parent in self.lives or node not in self.lives:
            return None
        above = node.parent
        while above not in self.lives and above.parent is not None:
            above = above.parent
        return above

    def child(self, node: Node) -> int:
        """N of the directory child-N of its recording in the branch."""
        adopter = self.adopter(node)
        if adopter is None:
            return node.child
        program, event = adopter.at(self.places[adopter])
        recording = adopter.programs[program]
        forks = sum(one.event <= event for one in forks_of(recording))
        before = self.adopted(adopter).index(node)
        return children_before(recording.path) + forks + before + 1

    def adopted(self, node: Node) -> list[Node]:
        return [one for one in self.lives if self.adopter(one) is node]

    @property
    def made(self) -> list[Node]:
        ghosts = self.counts.intersection(self.ghosts)
        return sorted([*self.lives, *self.zombies, *ghosts], key=lambda node: node.number)


def plan_tree(
    top: RankRecording,
    event: int,
    *,
    of_job: bool = False,
    programs: Sequence[RankRecording] = (),
) -> TreePlan | None:
    """The plan for the rank at EVENT; None: it has no child process there and shares no memory.

    OF_JOB: the rank belongs to an MPI job, whose shared windows the MPI library makes. PROGRAMS:
    those of the rank's own process, oldest first, if the restart has to begin with them: TOP may be
    its last one, or a descendant's. RdbError: something cannot be made again.
    """
    shares = not of_job and shares_memory(top, event)
    if not programs:
        _refuse_earlier_children(top, event)
    alone = not (shares or programs or is_born(top.path))
    if alone and not any(True for _ in top.path.glob("child-*")):
        return None
    tree = Tree(top, programs)
    _refuse_unknown_sockets(tree)
    places = _cut(tree, event)
    waited = {
        node
        for node, where in tree.waited.items()
        if node.parent is not None and places[node.parent] >= where
    }
    begun = [
        node
        for node in tree.nodes
        if node.parent is None or places[node.parent] >= node.forked > NOT_YET
    ]
    begun = [node for node in begun if _line(node) <= set(begun)]
    lives = [node for node in begun if places[node] < node.over]
    ended = [node for node in begun if node not in lives]
    zombies = [node for node in ended if node not in waited and node.parent in lives]
    ghosts = [node for node in ended if node not in zombies]
    counts = _counting(tree, places, lives, ended)
    counts.update(*(_line(node).intersection(ended) for node in lives))
    if alone and len(lives) == 1 and not zombies and not counts:
        return None
    shared = {} if of_job else shared_at(tree, places, lives, ended)
    for node in (*lives, *zombies):
        if node.parent in lives and node.program_of_parent < _program(node.parent, places):
            raise _refused(node, places, "its parent has executed another program since (execve)")
    for node, why in reapers_refused(tree, places, lives, ended):
        raise _refused(node, places, why)
    lines = [line for node in lives for line in _refusals(tree, node, places, of_job, lives)]
    begun_programs = [
        (one, places[node] - node.bases[k]) for node in begun for k, one in enumerate(node.programs)
    ]
    lines += [
        f"rank {top.name} cannot be restarted at event {event}, with other processes: {what}"
        for what, _ in system_v(begun_programs)
    ]
    lines += _signals(tree, places, lives)
    if lines:
        raise RdbError("\nrdb: ".join(lines), "choose another event")
    told = {
        node
        for node, where in tree.told.items()
        if node.parent is not None and where <= places[node.parent]
    }
    return TreePlan(tree, places, lives, zombies, ghosts, counts, told, shared)


def _refuse_earlier_children(top: RankRecording, event: int) -> None:
    """Refuses living children of the programs that this process ran before (execve)."""
    at_ns = top.event(event).at_ns
    for folder in folders_before(top.path):
        for number in child_numbers(folder):
            name = f"{top.name}, a child {number} of the program before"
            child = Node(
                number, name, list(programs_of(folder / f"child-{number}", top.files_dir, name))
            )
            if child.by_time(at_ns) < child.over - 1:
                raise RdbError(
                    f"rank {top.name} cannot be restarted at event {event}: a child process "
                    f"({folder}/child-{number}) of its earlier program, before execve, is still "
                    "alive",
                    "choose another event",
                )


def _refuse_unknown_sockets(tree: Tree) -> None:
    for node in tree.nodes:
        if not (node.born and node.programs):
            continue
        path = node.programs[0].path
        known = {number for one in born_sockets(path) for number in one.numbers}
        if any(one.kind == "socket" and one.number not in known for one in born_numbers(path)):
            raise RdbError(
                f"rank {tree.top.name} began with sockets between its processes: it is a branch "
                "that an older rdb has made",
                "restart the job that it is a branch of",
            )


def _line(node: Node) -> set[Node]:
    return {node} if node.parent is None else {node} | _line(node.parent)


def _program(node: Node, places: dict[Node, int]) -> int:
    return node.at(places[node])[0]


def _cut(tree: Tree, event: int) -> dict[Node, int]:
    main = tree.main
    place = main.place(tree.main_program, event)
    least = tree.closed({**dict.fromkeys(tree.nodes, NOT_YET), main: place})
    if least[main] > place:
        raise RdbError(
            f"rank {tree.top.name} cannot be restarted at event {event}: it depends on what "
            "another process did later",
            f"try --at {main.at(least[main])[1]}",
        )
    at_ns = main.at_ns(place)
    places = {
        node: place if node is main else max(least[node], node.by_time(at_ns))
        for node in tree.nodes
    }
    tree.back(places, least)
    return places


def _refused(node: Node, places: dict[Node, int], why: str) -> RdbError:
    _, event = node.at(places[node])
    name = f"process {node.name}" if node.parent else f"rank {node.name}"
    return RdbError(f"{name} cannot be restarted at event {event}: {why}", "choose another event")


def _refusals(
    tree: Tree, node: Node, places: dict[Node, int], of_job: bool, lives: list[Node]
) -> Iterator[str]:
    program, event = node.at(places[node])
    recording = node.programs[program]
    yield from refused(recording, event, shares=not of_job, of_tree=True)
    name = f"process {node.name}" if node.parent else f"rank {node.name}"
    at = f"{name} cannot be restarted at event {event}, with other processes"
    libraries = {1, 2} if node is not tree.main else set() if len(lives) == 1 else {2}
    if libraries & recording.index.libraries(NEVER):
        yield f"{at}: it has called {'verbs' if node is tree.main else 'MPI or verbs'}"


def _counting(
    tree: Tree, places: dict[Node, int], lives: list[Node], ended: list[Node]
) -> set[Node]:
    """Processes that have ended but are replayed, as others have open files that they changed."""
    followed = follow(tree.top, places)
    ends, operations = followed.ends, followed.operations
    found: set[Node] = set()
    for key, connection in followed.connections.items():
        _check_connection(places, connection, tree.connections[key], ends)
    for held, both in ends.items():
        if not both.holders.intersection(lives):
            continue
        doers = {one.node for one in operations.get(held, [])}
        if any(one.copies for one in operations.get(held, [])):
            raise _refused(
                next(iter(both.holders)),
                places,
                f"{held.what} was used by sendfile(2) or a similar call",
            )
        if held.kind is HeldKind.SOCKET and doers:
            raise _refused(
                next(iter(both.holders.intersection(lives))),
                places,
                f"{held.what} is a datagram socket",
            )
        gone = doers.intersection(ended)
        if held.kind is HeldKind.EPOLL and (gone or len(doers) > 1):
            raise _refused(
                next(iter(both.holders.intersection(lives))),
                places,
                "several of its processes have changed the interest list of the epoll at "
                f"{held.what}",
            )
        if held.kind is not HeldKind.SIGNALS:
            for node in gone:
                found |= _line(node)
    return found.intersection(ended)


def _check_connection(
    places: dict[Node, int], one: Connection, all_of: Connection, ends: Mapping[Held, Ends]
) -> None:
    """Refuses a connection whose other end is unknown or ambiguous.

    ALL_OF: the connection with all processes that ever had it.
    """
    holders = ends[one.first].holders | ends[one.second].holders
    if not holders:
        return
    made = one.connected or one.accepted
    node, _, number = made[0]
    if node not in holders:
        node = next(iter(holders))
    if not (all_of.connected and all_of.accepted):
        raise _refused(
            node,
            places,
            f"descriptor {number} is a socket whose other end is a process that does not belong to "
            "the program",
        )
    if len(all_of.connected) > 1 or len(all_of.accepted) > 1:
        raise _refused(
            node,
            places,
            f"descriptor {number} is a socket whose other end is not known: several processes have "
            "accepted connections of the same listening socket",
        )


def _signals(tree: Tree, places: dict[Node, int], lives: list[Node]) -> Iterator[str]:
    """A line for each signal that one process has sent and another has not received at the cut.

    Those that a process has sent to itself, or that waited when its program began, wait again
    (restart/process/sent_signals.h).
    """
    known: set[tuple[Node, int]] = set()
    for sender, where, at_ns, whom, which in tree.signals:
        if where > places[sender] or whom not in lives or not which or sender is whom:
            continue
        program = _program(whom, places)
        if program and at_ns < whom.programs[program].event(0).at_ns:
            continue
        begun = begun_ns(sender, where)
        # the answer of a call that had begun by then may be logged later
        taken = next(
            (
                one.place
                for one in tree.taken[whom]
                if one.signal == which
                and (one.at_ns >= at_ns or (one.at_ns >= begun and (whom, one.place) not in known))
            ),
            None,
        )
        if taken is not None:
            known.add((whom, taken))
        end = whom.programs[-1].end
        dies = (
            which == signal.SIGKILL
            if end is None
            else end.kind is EndKind.SIGNAL and end.value == which
        )
        if dies or (taken is not None and taken > places[whom]):
            name = signal.Signals(which).name if which < 32 else str(which)
            yield (
                f"process {whom.name} cannot be restarted at event {whom.at(places[whom])[1]}: "
                f"{name} from process {sender.name} is not delivered yet"
            )


# ---- the files for rdb-exec ----


def _folder(branch: str, rank: int) -> str:
    return os.path.join(branch, f"tree-{rank}")


def write_tree(
    branch: str,
    plan: TreePlan,
    rank: int,
    own: Sequence[str],
    common: Sequence[str],
    mpi: str | None,
) -> tuple[RankRecording, list[str]]:
    """Writes the directory `tree-R` of rank R, which rdb-exec reads.

    OWN: options for the program that the cut is in. COMMON: those for all others. Returns the
    program that the rank's own process begins with, and the options for it. RdbError: there are
    more than _ENTRIES processes.
    """
    folder = _folder(branch, rank)
    make_directory(folder)
    past = set(plan.ghosts)
    made = sorted(plan.made, key=lambda node: node in past)  # those that a branch begins with first
    numbers = {node: number for number, node in enumerate(made)}
    write_born(Path(folder), [_begins(plan, node, numbers) for node in numbers if node not in past])
    with open(os.path.join(folder, "pids"), "xb", opener=opener) as file:
        file.write(_HEAD.pack(len(numbers), 0, 0, 0))
        for node in numbers:
            known = node.pid or node.programs[0].known_pid
            file.write(PID_ENTRY.pack(known, 0, 0, node.group, node.session))
        file.truncate(_HEAD.size + _ENTRIES * PID_ENTRY.size + _REST_BYTES)
    if len(numbers) > _ENTRIES:
        raise RdbError(
            f"a restart can bring back {_ENTRIES} processes at most, and here are {len(numbers)}",
            "choose another event",
        )
    writer = _Writer(branch, folder, plan, numbers, rank, own, common, mpi)
    for node in numbers:
        writer.node(node)
    top = plan.tree.top
    return top.programs[0], writer.options(top, 0)


def _begins(plan: TreePlan, node: Node, numbers: dict[Node, int]) -> BornNode:
    above = plan.adopter(node) or node.parent
    return BornNode(
        numbers[above] if above is not None else -1,
        plan.child(node),
        node in plan.lives,
        0 if node in plan.lives else node.status,
        node in plan.told,
        plan.adopter(node) is not None,
    )


@dataclass
class _Writer:
    branch: str
    folder: str
    plan: TreePlan
    numbers: dict[Node, int]
    rank: int
    own: Sequence[str]
    common: Sequence[str]
    mpi: str | None
    begin: dict[Node, list[Node]] = field(default_factory=dict)
    """Children that a branch begins with; those outside of the parent's session come first."""

    def node(self, node: Node) -> None:
        number = self.numbers[node]
        if node.born:
            self._children(node)
        if node in self.plan.zombies and node not in self.plan.counts:
            self._fork(node, "ended", [])
            return
        newest, _ = node.at(self.plan.places[node])
        for program in range(1, newest + 1):
            self._words(f"{number}-{program - 1}-next", self._line(node, program)[1:])
        if node not in self.plan.lives:
            self._words(f"{number}-{newest}-end", [str(node.status)])
        elif node in self.plan.shared:
            self._text(f"{number}-{newest}-shared", "".join(self.plan.shared[node]))
        kind = "ghost" if node in self.plan.ghosts else "zombie"
        if node in self.plan.lives:
            kind = "orphan" if self.plan.adopter(node) else "lives"
            adopted = len(self.plan.adopted(node))
            if adopted:
                self._words(f"{number}-{newest}-adopts", [str(adopted)])
        self._fork(node, kind, self._line(node, 0)[1:])

    def _children(self, node: Node) -> None:
        born = [one for one in node.children if one.born]
        leads = bool(node.session) and node.session == node.pid
        before = [one for one in born if leads and one.session != node.session]
        self.begin[node] = [*before, *(one for one in born if one not in before)]
        if leads:
            count = len([one for one in before if one in self.numbers])
            self._words(f"{self.numbers[node]}-0-session", [str(count)])

    def _fork(self, node: Node, kind: str, line: Sequence[str]) -> None:
        if node.parent is None:
            return
        tell = node in self.plan.zombies and node not in self.plan.told
        status = 0 if node in self.plan.lives else node.status
        words = [str(self.numbers[node]), kind, str(status), "1" if tell else "0"]
        parent = f"{self.numbers[node.parent]}-{node.program_of_parent}"
        if not node.born:
            self._words(f"{parent}-{node.fork_event}", [*words, *line])
            return
        place = [one for one in self.begin[node.parent] if one in self.numbers].index(node)
        self._words(f"{parent}-begin-{place}", [*words, *line])

    def recording(self, node: Node) -> str:
        if node.parent is None:
            return os.path.join(self.branch, f"rank-{self.rank}")
        above = self.plan.adopter(node) or node.parent
        return os.path.join(self.recording(above), f"child-{self.plan.child(node)}")

    def options(self, node: Node, program: int) -> list[str]:
        newest, event = node.at(self.plan.places[node])
        recording = node.programs[program]
        until = event if program == newest else recording.last_event
        options = ["--restart", str(recording.path), "--at", str(until), "--checkpoint", "0"]
        options += self.common
        if program == newest and node is self.plan.tree.main:
            options = list(self.own)
        return [*options, "--tree", self.folder, "--process", f"{self.numbers[node]}-{program}"]

    def _line(self, node: Node, program: int) -> list[str]:
        argv = [str(word) for word in node.programs[program].meta["argv"]]
        return rdb_exec_line(
            self.recording(node),
            os.path.join(self.branch, "files"),
            self.rank,
            argv[0],
            argv[1:],
            self.options(node, program),
            self.mpi,
        )

    def _text(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "x", opener=opener) as file:
            file.write(text)

    def _words(self, name: str, words: Sequence[str]) -> None:
        with open(os.path.join(self.folder, name), "xb", opener=opener) as file:
            file.write(b"".join(os.fsencode(word) + b"\0" for word in words))


def tree_lines(plan: TreePlan) -> Iterator[str]:
    """The plan's lines for the user; the process of the cut has a line already."""
    for node in plan.made:
        if node is plan.tree.main:
            continue
        if node in plan.lives:
            program, event = node.at(plan.places[node])
            what = node.programs[program].describe(event) if event else "its beginning"
            name = node.name if node.parent else f"{node.name}:{program + 1}"
            yield f"process {name}: replay to event {event}, then live, after {what}"
        elif node in plan.zombies:
            yield f"process {node.name}: has ended, its parent has not waited for it yet"
        else:
            yield f"process {node.name}: has ended; replayed, as others use what it wrote"
