"""Breakpoints, watchpoints and dprintfs as values that can be compared and restored.

A restored breakpoint gets a new number from GDB; `identity` is its first number, and does not
change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import gdb

from ..values.own_frames import own_file
from . import catchpoints, dprintfs, hits, meant, scopes

_first: dict[int, int] = {}  # number now -> identity
_WATCH_COMMANDS = {
    gdb.BP_HARDWARE_WATCHPOINT: "watch",
    gdb.BP_WATCHPOINT: "watch",
    gdb.BP_READ_WATCHPOINT: "rwatch",
    gdb.BP_ACCESS_WATCHPOINT: "awatch",
}
_BREAKS = (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT)


@dataclass(frozen=True)
class PointState:
    identity: int
    type: int
    spec: str  # location, expression or what a catchpoint catches
    enabled: bool
    condition: str | None
    commands: str | None
    ignore: int
    temporary: bool
    silent: bool
    scope: tuple[str, int] | None
    thread: int | None
    task: int | None
    off: tuple[int, ...]  # addresses of the locations in the program that are disabled
    hits: int = field(compare=False)  # not compared: no command changes it

    @property
    def is_watch(self) -> bool:
        return self.type in _WATCH_COMMANDS

    def words(self) -> str:
        caught = self.type == catchpoints.TYPE
        kind = "Catchpoint" if caught else "Watchpoint" if self.is_watch else "Breakpoint"
        kind = "Dprintf" if self.type == dprintfs.TYPE else kind
        return f"{kind} {{}}: {self.spec}"


def identity(number: int) -> int:
    return _first.get(number, number)


def current(without: int | None = None) -> tuple[PointState, ...]:
    """All breakpoints of the user, except number `without`, which is being deleted."""
    states = [state(point) for point in everything() if point.number != without and _kept(point)]
    return tuple(sorted(states, key=lambda one: one.identity))


def everything() -> list[Any]:
    """All breakpoints, including dprintfs."""
    return [*(gdb.breakpoints() or ()), *dprintfs.current()]


def with_dprintfs_of(
    states: tuple[PointState, ...], others: tuple[PointState, ...]
) -> tuple[PointState, ...]:
    """STATES with the dprintfs of OTHERS: no event reports dprintfs."""
    mixed = [one for one in states if one.type != dprintfs.TYPE]
    mixed += [one for one in others if one.type == dprintfs.TYPE]
    return tuple(sorted(mixed, key=lambda one: one.identity))


def _kept(point: Any) -> bool:
    """Is it a breakpoint of the user that can be restored?"""
    if point.type == catchpoints.TYPE:
        return bool(catchpoints.spec(point))
    return point.visible and point.type in (*_BREAKS, *_WATCH_COMMANDS, dprintfs.TYPE)


def _spec(point: Any) -> str:
    if point.type == catchpoints.TYPE:
        return catchpoints.spec(point)
    if point.type == dprintfs.TYPE:
        return str(point.spec)
    return (point.expression if point.type in _WATCH_COMMANDS else point.location) or ""


def state(point: Any) -> PointState:
    return PointState(
        identity=identity(point.number),
        # GDB changes between the two types by itself.
        type=gdb.BP_HARDWARE_WATCHPOINT if point.type == gdb.BP_WATCHPOINT else point.type,
        spec=_spec(point),
        enabled=point.enabled or scopes.waiting(point),
        condition=point.condition,
        commands=point.commands,
        ignore=point.ignore_count,
        temporary=point.temporary,
        silent=point.silent,
        scope=scopes.scope_of(point.number),
        thread=getattr(point, "thread", None),
        task=getattr(point, "task", None),
        off=tuple(one.address for one in _locations(point) if not one.enabled),
        hits=hits.of(point),
    )


def _locations(point: Any) -> list[Any]:
    """Those in the program and its own libraries.  In others rdb disables some."""
    found: list[Any] = []
    if point.type in _BREAKS and not point.pending:
        found = list(point.locations)
    return [one for one in found if own_file(gdb.solib_name(one.address))]


_TAKES_NUMBERS = re.compile(
    r"((?:d|del\w*|dis\w*|en|ena\w*)(?:\s+(?:br\w*|once|del\w*))?|cond\w*|ig\w*|info\s+b\w*"
    r"|comm\w*)\s+(\d[\d.\s-]*)(.*)",
    re.DOTALL,
)


def renumbered(line: str) -> str:
    """LINE, a command of GDB, with the present numbers of breakpoints that were made again."""
    found = _TAKES_NUMBERS.fullmatch(line)
    if found is None:
        return line
    have = {point.number for point in everything()}
    now = {first: number for number, first in _first.items() if number in have}

    def number(given: re.Match[str]) -> str:
        old = int(given[0])
        return str(old if old in have else now.get(old, old))

    only_first = found[1].startswith(("cond", "ig"))
    numbers = re.sub(r"(?<![\d.])\d+", number, found[2], count=int(only_first))
    return f"{found[1]} {numbers}{found[3]}"


def remove_others(wanted: tuple[PointState, ...]) -> list[str]:
    """Deletes the breakpoints that are not wanted; a message for each."""
    keep = {one.identity for one in wanted}
    said = []
    for point in everything():
        if not _kept(point):
            continue
        if identity(point.number) not in keep:
            said.append(f"Deleted {state(point).words().format(point.number).lower()}.")
            point.delete()
    dprintfs.forget()
    return said


def put_back(wanted: tuple[PointState, ...]) -> list[str]:
    """Restores the wanted breakpoints; a message for each that was made again."""
    said = []
    now = {identity(p.number): p for p in everything() if p.visible}
    for one in wanted:
        key = one.identity
        if key in now:
            _adjust(now[key], one)
            continue
        point, problem = _made_again(one)
        if point is None:
            said.append(problem)
            continue
        was = f" (it was {key})" if point.number != key else ""
        said.append(f"{one.words().format(point.number)} is back{was}.")
    return said


def put_back_one(one: PointState) -> list[str]:
    """Makes a breakpoint in a GDB that does not have it; a message if that fails."""
    point, problem = _made_again(one)
    return [] if point is not None else [problem]


def _made_again(one: PointState) -> tuple[Any, str]:
    try:
        point = _create(one)
    except gdb.error as error:
        return None, f"{one.words().format(one.identity)} cannot be set again here: {error}."
    _first[point.number] = one.identity
    _adjust(point, one)
    return point, ""


def _create(one: PointState) -> Any:
    if one.scope is not None and scopes.find(one.scope) is None:
        raise gdb.error("its frame does not exist")
    before = {point.number for point in everything()}
    of_watch = one.spec if one.is_watch else None
    with scopes.selected_scope(one.scope, of_watch), meant.as_selected():
        # By command, because the output of gdb.Breakpoint cannot be captured.
        gdb.execute(f"{_command(one)} {one.spec}", to_string=True)
        dprintfs.forget()
        made = next(p for p in everything() if p.number not in before)
        scopes.created(made)
        return made


def _command(one: PointState) -> str:
    if one.is_watch:
        return _WATCH_COMMANDS[one.type]
    if one.type == catchpoints.TYPE:
        return "tcatch" if one.temporary else "catch"
    if one.type == dprintfs.TYPE:
        return "dprintf"
    hard = "h" if one.type == gdb.BP_HARDWARE_BREAKPOINT else ""
    return f"{'t' if one.temporary else ''}{hard}break"


def _adjust(point: Any, one: PointState) -> None:
    if point.condition != one.condition:
        with scopes.selected(point):
            point.condition = one.condition
    if point.ignore_count != one.ignore:
        point.ignore_count = one.ignore
    if point.commands != one.commands:
        point.commands = one.commands or ""
    if point.silent != one.silent:
        point.silent = one.silent
    if getattr(point, "thread", None) != one.thread:
        point.thread = one.thread
    if getattr(point, "task", None) != one.task:
        point.task = one.task
    for place in _locations(point):
        if place.enabled != (place.address not in one.off):
            place.enabled = not place.enabled
    if point.enabled != one.enabled and not scopes.waiting(point):
        point.enabled = one.enabled
    hits.put_back(point, one.hits)
