"""The processes of a rank: its descendants, the programs that each of them ran, their names.

The name of a process is its rank and the numbers of the children on the way to it: `0` is rank 0's
own process, `0.2` its second child, `0.2.1` the first child of `0.2`.  A program that replaces
itself (execve) stays the same process: `0` then means its newest program, `0:1` its first program,
`0:2` its second.  Children are counted through all programs of their parent.

If the rank's own process only waits for a child that is the MPI program (`sh -c ./heat`), `0` is
that child, and the shell is `0:1`.

On disk (interposer/answer/process.h), a child is in `child-N` below the directory of the program
that forked, and a new program in `exec` below that of the program it replaced.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rdb.errors import DamagedRecording, UnknownJob, Usage
from rdb.recording.checkpoints import has_image
from rdb.recording.rank import RankRecording
from rdb.recording.state import ProcessState

_NAME = re.compile(r"(\d+)((?:\.[1-9]\d*)*)(?::([1-9]\d*))?\Z")
_CHILD = re.compile(r"child-([1-9]\d*)\Z")
_MPI = re.compile(r"/libmpi(ch|_abi)?\.so")  # rdb's libraries for programs of each family
_FIRST_SEGMENT = "log-000000.seg"


class ProcessName(NamedTuple):
    """The parts of a name like `0.2:1`."""

    rank: int
    children: tuple[int, ...] = ()
    program: int | None = None

    @classmethod
    def parse(cls, text: str | int) -> ProcessName:
        match = _NAME.match(str(text))
        if match is None:
            raise Usage(
                f"{str(text)!r} is not a rank or process",
                "write 0 for a rank, 0.1 for its first child, 0:1 for its first program",
            )
        children = tuple(int(number) for number in match[2].split(".")[1:])
        return cls(int(match[1]), children, int(match[3]) if match[3] else None)

    @property
    def process(self) -> str:
        """The name without a program."""
        return ".".join(map(str, (self.rank, *self.children)))


@dataclass
class Process:
    """One process: its programs, oldest first (at least one), and its children by number."""

    name: str
    programs: list[RankRecording]
    children: dict[int, Process] = field(default_factory=dict)

    @property
    def main(self) -> RankRecording:
        """The program that the name means: the newest one that reached its entry point."""
        started = [one for one in self.programs if has_image(one.path)]
        return started[-1] if started else self.programs[-1]

    @property
    def state(self) -> ProcessState:
        """How the process ended."""
        return self.programs[-1].state

    @property
    def of_this_host(self) -> bool:
        """Did it run here?"""
        host = self.programs[-1].glance().meta.get("host")
        return bool(host == os.uname().nodename)

    def walk(self) -> Iterator[Process]:
        """This process and its descendants, parents first."""
        yield self
        for number in sorted(self.children):
            yield from self.children[number].walk()

    def program(self, number: int | None) -> RankRecording:
        if number is None:
            return self.main
        if number > len(self.programs):
            raise UnknownJob(
                f"process {self.name} has no program {number}", f"it ran {len(self.programs)}"
            )
        return self.programs[number - 1]


def read_process(path: Path, files_dir: Path, name: str) -> Process:
    """The process that began in directory PATH, with its descendants.

    Raises DamagedRecording if a directory cannot be read.
    """
    try:
        return _read_process(path, files_dir, name)
    except OSError as error:
        raise DamagedRecording(f"{error.filename or path}: {error.strerror}") from error


def _read_process(path: Path, files_dir: Path, name: str) -> Process:
    folders = [path]
    while (folders[-1] / "exec" / _FIRST_SEGMENT).exists():
        folders.append(folders[-1] / "exec")
    programs = [
        RankRecording(folder, files_dir, f"{name}:{k}") for k, folder in enumerate(folders, 1)
    ]
    process = Process(name, programs)
    process.main.name = name
    earlier = 0
    for folder in folders:
        numbers = child_numbers(folder)
        for number in numbers:
            child = earlier + number
            below = folder / f"child-{number}"
            process.children[child] = _read_process(below, files_dir, f"{name}.{child}")
        earlier += max(numbers, default=0)
    return process


def mpi_process(rank: Process) -> Process:
    """The process of a rank that has loaded MPI; if none or several have, the rank's own."""
    if not rank.children:
        return rank
    found, left = [], [rank]
    while left:
        process = left.pop()
        if any(_MPI.search(path) for path in process.main.files):
            found.append(process)
        else:
            left.extend(process.children.values())
    return found[0] if len(found) == 1 else rank


def child_numbers(folder: Path) -> list[int]:
    """Numbers of the children with a recording; a child killed during fork has none."""
    return sorted(
        int(match[1])
        for entry in folder.iterdir()
        if (match := _CHILD.match(entry.name)) and (entry / _FIRST_SEGMENT).exists()
    )


def find_process(rank: Process, name: ProcessName) -> Process:
    """The process of that name among a rank's own process and its descendants.

    Raises UnknownJob if there is none.
    """
    process = rank
    for number in name.children:
        below = process.children.get(number)
        if below is None:
            known = ", ".join(process.children[k].name for k in sorted(process.children))
            raise UnknownJob(
                f"there is no process {process.name}.{number}",
                f"children of {process.name}: {known or 'none'}",
            )
        process = below
    return process
