"""Repeats operations on MPI files at a restart, in one order for all ranks, on the branch's copies.

The order is causal (clocks.py), and by time where no cause decides. It is a sequence of steps; a
step is a call of one rank or a collective. The recording has kept the content that a file had
before the job wrote to it. A file that the job wrote to only after the cut gets that content.
"""

from __future__ import annotations

import heapq
import os
import shutil
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rdb.errors import RdbError
from rdb.live.files.mpi_files import Call, Files, Opening, Was
from rdb.private import make_directory, opener
from rdb.recording.log.record import NEVER
from rdb.recording.messages.clocks import Clocks
from rdb.recording.messages.messages import Messages
from rdb.recording.stored import check_stored

MPI_FILES = "mpi-files"
_STAYS, _ABSENT, _COPY = "-", "a", "c"  # enum file_base of restart_files.h


@dataclass(slots=True)
class _Step:
    path: str
    calls: dict[int, Call]
    opening: Opening | None = None
    """The opening that begins with this step."""

    @property
    def at_ns(self) -> int:
        return min(call.at_ns for call in self.calls.values())

    @property
    def leader(self) -> int:
        return min(self.calls)


@dataclass(slots=True)
class FilePlan:
    steps: list[_Step] = field(default_factory=list)
    open_paths: list[str] = field(default_factory=list)
    """Files that are open at the cut."""
    begun: set[str] = field(default_factory=set)
    """Files that were written to before the cut."""
    later: dict[str, Opening] = field(default_factory=dict)
    """Files that are written to only after the cut, with the opening of the first write."""
    again: dict[str, Opening] = field(default_factory=dict)
    """Files that are written to after the cut, also if before it, with the opening of that."""
    were: dict[str, Path | None] = field(default_factory=dict)
    """Contents of files at the beginning of the job, if it is itself a branch; None: absent."""
    left: list[str] = field(default_factory=list)
    """Files whose content at the cut is not known."""
    users: dict[str, set[int]] = field(default_factory=dict)
    """Ranks that open a file, before or after the cut."""

    @property
    def moved(self) -> list[str]:
        """Files of which the branch has copies."""
        return sorted(self.begun | self.later.keys())

    def settle(self, before: set[str], after: Mapping[str, int], held: set[str]) -> set[str]:
        """Decides who has the copy of each file that MPI and system calls change; MPI's ones.

        A file's content at the cut is what the first change after it found: MPI's, which is an
        opening for writing, or a system call's. If nothing has changed it since, the file itself
        has what a system call wrote before the cut. A file that MPI has open there is always
        MPI's. BEFORE: files that system calls have changed before the cut; AFTER: after it, and
        when first; HELD: files that a process has open for writing at the cut.
        """
        shared = [path for path in self.moved if path in before or path in after or path in held]
        of_mpi = {path for path in shared if path in self.open_paths}
        dropped = set()
        for path in set(shared) - of_mpi:
            again = self.again.get(path)
            times = [after.get(path)]
            times += [None if again is None else min(one.at_ns for one in again.opened.values())]
            first = min((ns for ns in times if ns is not None), default=None)
            if path in held or (path in before if first is None else first == after.get(path)):
                dropped.add(path)
                continue
            of_mpi.add(path)
            if again is not None and again.was in (Was.KEPT, Was.ABSENT):
                dropped.add(path)
                self.later[path] = again
        self.steps = [one for one in self.steps if one.path not in dropped]
        self.begun -= dropped
        for path in dropped - of_mpi:
            self.later.pop(path, None)
        return of_mpi

    def lines(self) -> list[str]:
        """The plan's lines for the user."""
        calls = len(self.steps)
        return [
            *(
                f"file {path}: as it was at the cut"
                f"{', and open' if path in self.open_paths else ''}"
                for path in self.moved
            ),
            *([f"MPI files: {calls} calls are repeated on copies"] if calls else []),
        ]


def file_plan(files: Files, events: dict[int, int], messages: Messages) -> FilePlan:
    plan = FilePlan(were=files.begun.were)
    for one in files.openings:
        plan.users.setdefault(one.path, set()).update(one.opened)
    _sort_out(plan, files, events)
    steps = []
    for one in files.openings:
        if one.needed(events) and one.path not in plan.left:
            steps += _steps(one, events)
    plan.steps = _ordered(steps, messages)
    return plan


def _sort_out(plan: FilePlan, files: Files, events: dict[int, int]) -> None:
    known = {one.path for one in files.openings if one.writes and one.begun(events)}
    known.update(files.begun.were)
    for one in files.openings:
        begun = one.begun(events)
        if one.open_at(events):
            plan.open_paths.append(one.path)
        if one.was is Was.LOST and (begun or one.path not in known):
            if begun and one.path in plan.open_paths:
                raise RdbError(
                    f"{one.path}: its content when rank {one.says} opened it, at event "
                    f"{one.opened[one.says].event}, was too large to be kept",
                    "choose an event before that",
                )
            if one.path not in plan.left:
                plan.left.append(one.path)
    later = [one for one in files.openings if one.writes and not one.begun(events)]
    for one in sorted(later, key=lambda one: min(call.at_ns for call in one.opened.values())):
        plan.again.setdefault(one.path, one)
        if one.path not in known and one.path not in plan.left:
            plan.later.setdefault(one.path, one)
    plan.begun = known - set(plan.left)


def _steps(one: Opening, events: Mapping[int, int]) -> list[_Step]:
    steps = [] if one.born else [_Step(one.path, dict(one.opened), one)]
    for calls in one.together():
        there = {rank: call for rank, call in calls.items() if call and call.event <= events[rank]}
        if there:
            steps.append(_Step(one.path, there))
    for rank, own in one.calls.items():
        steps += [
            _Step(one.path, {rank: call})
            for call in own
            if not call.together and call.event <= events[rank]
        ]
    return steps


def _ordered(steps: list[_Step], messages: Messages) -> list[_Step]:
    """STEPS in an order in which each follows all that it depends on.

    RdbError: there is no such order.
    """
    before = _before(steps, messages)
    after: dict[int, list[int]] = defaultdict(list)
    for number, needed in enumerate(before):
        for one in needed:
            after[one].append(number)
    ready = [(steps[number].at_ns, number) for number, needed in enumerate(before) if not needed]
    heapq.heapify(ready)
    chain = []
    while ready:
        _, number = heapq.heappop(ready)
        chain.append(steps[number])
        for one in after[number]:
            before[one].discard(number)
            if not before[one]:
                heapq.heappush(ready, (steps[one].at_ns, one))
    if len(chain) < len(steps):
        stuck = next(number for number, needed in enumerate(before) if needed)
        call = next(iter(steps[stuck].calls.values()))
        raise RdbError(
            f"rank {call.rank} was in {call.name} (event {call.event}) while other ranks changed "
            "the same files: these calls cannot be repeated in one order",
            "choose an event before that",
        )
    return chain


def _before(steps: list[_Step], messages: Messages) -> list[set[int]]:
    clocks = Clocks(messages)
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, step in enumerate(steps):
        for rank, call in step.calls.items():
            places[rank].append((call.event, number))
    for own in places.values():
        own.sort()
    before: list[set[int]] = [set() for _ in steps]
    for number, step in enumerate(steps):
        for rank, call in step.calls.items():
            known = {**clocks.past(rank, call.event - 1), rank: call.event - 1}
            for other, interval in known.items():
                own = places.get(other, [])
                at = bisect_right(own, (interval, NEVER)) - 1
                if at >= 0 and own[at][1] != number:
                    before[number].add(own[at][1])
    return before


def write_files(plan: FilePlan, branch: str, ranks: list[int]) -> dict[str, Path]:
    """Writes the steps for each rank's plug-in (mpi/lower/restart/restart_files_order.c), and the
    copies of files.

    Returns the place of each file that the branch has a copy of. RdbError: a content is unknown.
    """
    if not plan.steps and not plan.moved and not plan.open_paths:
        return {}
    folder = Path(branch) / MPI_FILES
    make_directory(str(folder))
    place = {
        path: folder / f"{number}-{Path(path).name[:200]}" for number, path in enumerate(plan.moved)
    }
    for path, was in plan.were.items():
        if was is not None and path in place:
            shutil.copyfile(was, place[path])
            place[path].chmod(0o600)
    for path, one in plan.later.items():
        if one.kept is not None:
            check_stored(one.kept)
            shutil.copyfile(one.kept, place[path])
            place[path].chmod(0o600)
        elif one.was is Was.SAME:
            raise RdbError(f"{path}: its content at the cut is not known")
    lines = {rank: [f"file {place[path]}\t{path}\n" for path in plan.moved] for rank in ranks}
    for rank, steps in _step_lines(plan.steps).items():
        lines[rank] += steps
    for rank in ranks:
        name = os.path.join(branch, f"{MPI_FILES}-{rank}")
        with open(name, "x", encoding="utf-8", errors="surrogateescape", opener=opener) as file:
            file.writelines(lines[rank])
    return place


def _step_lines(steps: list[_Step]) -> dict[int, list[str]]:
    lines: dict[int, list[str]] = defaultdict(list)
    open_count: dict[str, int] = defaultdict(int)
    for number, step in enumerate(steps):
        earlier = steps[number - 1].calls if number else {}
        follower = steps[number + 1].leader if number + 1 < len(steps) else -1
        base, source = _base(step.opening, open_count)
        for rank, call in step.calls.items():
            leads = rank == step.leader
            wait = sorted(set(earlier) - {rank}) if leads else [step.leader]
            go = sorted(set(step.calls) - {rank}) if leads else []
            says = step.opening is not None and step.opening.says == rank
            words = [
                *("step", call.event, number, call.position, base if says else _STAYS),
                *(len(wait), *wait, len(go), *go, follower if follower != rank else -1),
                *((source,) if says and source else ()),
            ]
            lines[rank].append(" ".join(map(str, words)) + "\n")
        closing = next(iter(step.calls.values()))
        if closing.name == "MPI_File_close":
            _count_closed(steps[:number], closing, open_count)
    return lines


def _base(one: Opening | None, open_count: dict[str, int]) -> tuple[str, Path | None]:
    """What to put into the file before it is opened; nothing if it is open elsewhere already."""
    if one is None or not one.writes:
        return _STAYS, None
    others = open_count[one.path]
    if not one.closed or any(
        call.event != one.closed.get(rank) for rank, call in one.opened.items()
    ):
        open_count[one.path] += 1
    if others:
        return _STAYS, None
    if one.was is Was.KEPT:
        return _COPY, one.kept
    return (_ABSENT, None) if one.was is Was.ABSENT else (_STAYS, None)


def _count_closed(steps: list[_Step], closing: Call, open_count: dict[str, int]) -> None:
    for step in reversed(steps):
        one = step.opening
        if one is not None and one.writes and one.closed.get(closing.rank) == closing.event:
            open_count[one.path] -= 1
            return


def copies(branch: Path) -> list[Path]:
    """The branch's copies of MPI files."""
    return sorted((branch / MPI_FILES).glob("*")) if (branch / MPI_FILES).is_dir() else []
