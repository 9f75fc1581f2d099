"""A walk through a real GDB with our extension: commands as typed, undone and redone.

Wherever one comes from, a position has one state, all registers and the hash of all memory; and
each undo and redo gives back exactly what was there: position, registers, memory, breakpoints.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from gdbdriver import GENERAL, Gdb, GdbError

# Of the innermost frame: at the end of a recording another one is selected.
_REGISTERS = (
    "python one = gdb.newest_frame(); "
    "print(*(f'{name}={one.read_register(name).format_string(format=\"x\")}' for name in "
    f"{(*GENERAL, 'fs_base', 'gs_base')}))"
)
_HASH = "python import rdb_gdb.link; print(rdb_gdb.link.ask('hash')['hash'])"
_POINTS_MAX = 4
_MOTIONS = (
    *("stepi", "stepi 7", "step", "next", "nexti 3", "continue", "finish", "until", "step 3"),
    *("reverse-stepi", "reverse-stepi 5", "reverse-step", "reverse-next", "reverse-nexti"),
    *(
        "reverse-continue",
        "reverse-finish",
        "reverse-step 2",
        "goto START",
        "goto END",
        "goto here",
    ),
)


@dataclass(frozen=True)
class Seen:
    """Everything that an undo brings back."""

    position: str
    branch: bool
    thread: int | None
    registers: tuple[str, ...]
    hashed: str
    points: tuple[tuple[str, ...], ...]

    @property
    def contents(self) -> tuple[object, ...]:
        return self.registers, self.hashed


@dataclass
class Memory:
    """What positions of a recording had, over all walks along it."""

    contents: dict[tuple[str, int | None], tuple[object, ...]] = field(default_factory=dict)
    moves: int = 0
    compared: int = 0
    undone: int = 0


class GdbWalk:
    def __init__(
        self, gdb: Gdb, memory: Memory, seed: int, places: list[str], variables: list[str]
    ) -> None:
        self.gdb = gdb
        self.memory = memory
        self.places = places
        self.variables = variables
        self._chance = random.Random(seed)
        self._done: list[str] = []
        gdb.run("bookmark here")
        first = self._look("(opening)")
        self._at = int(first[0]["history"])
        self._past = {self._at: first[1]}

    def walk(self, moves: int) -> None:
        for _ in range(moves):
            kind = self._chance.random()
            if kind < 0.2:
                self._travel("undo")
            elif kind < 0.32:
                self._travel("redo")
            elif kind < 0.47:
                self._command(self._point())
            elif kind < 0.55:
                self._command(f"set var {self._chance.choice(self.variables)} = {len(self._done)}")
            else:
                self._command(self._chance.choice(_MOTIONS))
            self.memory.moves += 1

    def _point(self) -> str:
        """A breakpoint or watchpoint more, or none any more."""
        if len(self.gdb.breakpoints()) >= _POINTS_MAX:
            return "delete"
        if self._chance.random() < 0.4:
            return f"watch {self._chance.choice(self.variables)}"
        return f"break {self._chance.choice(self.places)}"

    def _run(self, command: str) -> None:
        self._done.append(command)
        try:
            self.gdb.run(command)
        except GdbError as error:
            self._done[-1] += f" ({error})"

    def _command(self, command: str) -> None:
        self._run(command)
        state, seen = self._look(command)
        now = int(state["history"])
        assert now in (self._at, self._at + 1), self._story()
        if now == self._at:
            self._same(seen, self._past[now])
        else:
            self._past = {at: old for at, old in self._past.items() if at < now}
            self._past[now] = seen
        self._at = now

    def _travel(self, command: str) -> None:
        count = self._chance.randint(1, 4)
        self._run(f"{command} {count}")
        state, seen = self._look("")
        now = int(state["history"])
        if "(" not in self._done[-1]:
            assert 1 <= abs(now - self._at) <= count, self._story()
            self.memory.undone += 1
        self._same(seen, self._past[now])
        self._at = now

    def _look(self, command: str) -> tuple[dict[str, Any], Seen]:
        option = f" --command {command}" if command else ""
        state = json.loads(self.gdb.run(f"rdb-state{option}").splitlines()[-1])
        rows = self.gdb.mi("-break-list")[1]["BreakpointTable"]["body"]
        seen = Seen(
            position=state["position"],
            branch=state["branch"],
            thread=state["thread"],
            registers=tuple(self.gdb.run(_REGISTERS).split()),
            hashed=self.gdb.run(_HASH).split()[-1],
            points=tuple(
                sorted(
                    (row.get("what") or row.get("original-location", "?"), row["enabled"])
                    for row in rows
                )
            ),
        )
        if not seen.branch:
            key = seen.position, seen.thread
            before = self.memory.contents.setdefault(key, seen.contents)
            self.memory.compared += before is not seen.contents
            assert before == seen.contents, self._story()
        return state, seen

    def _same(self, seen: Seen, wanted: Seen) -> None:
        """Is all as it was?  Else what is not, and how one came here."""
        others = [
            f"{name}: {now} instead of {then}"
            for name in Seen.__dataclass_fields__
            for now, then in [(getattr(seen, name), getattr(wanted, name))]
            if now != then
        ]
        assert not others, f"{'; '.join(self._done)}: {others}"

    def _story(self) -> str:
        return "; ".join(self._done)
