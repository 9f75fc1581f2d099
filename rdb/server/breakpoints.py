"""GDB's breakpoints and watchpoints (`Z`, `z` packets), set in the timeline before it moves.

GDB removes all its breakpoints at every stop and inserts them again before it continues.  So the
packets only record what GDB wants; `arm` gives the differences to the timeline before a move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rdb.errors import RdbError
from rdb.timeline.timeline import Timeline

_WATCH_KINDS = {2: 0, 3: 1, 4: 2}  # Z2 write, Z3 read, Z4 access -> enum agent_watch
_WATCH_MAX = 16 << 20  # WATCH_MAX in interposer/seek/watch.h
_CONDITION_MAX = 1024  # CONDITION in interposer/seek/breakpoints.c
_STOP_WORDS = {2: "watch", 3: "rwatch", 4: "awatch"}


# Agent expressions (GDB manual, appendix F); register 7 is rsp.
_REG_RSP, _CONST64, _EQUAL, _END = b"\x26\x00\x07", b"\x25", b"\x13", b"\x27"


def sp_is(expected: int) -> bytes:
    """Agent expression that is true if the stack pointer has this value."""
    return _REG_RSP + _CONST64 + expected.to_bytes(8, "big") + _EQUAL + _END


@dataclass(frozen=True)
class Point:
    """A `Z` packet with one of its conditions.  A packet with several conditions stops if any of
    them is true."""

    type: int
    addr: int
    kind: int
    cond: bytes = b""


def parse_points(body: bytes) -> list[Point]:
    """`type,addr,kind[;Xlen,bytes...][;cmds...]` -> points.  Raises ValueError."""
    head, _, rest = body.partition(b";")
    type_text, addr_text, kind_text = head.split(b",")
    type_, addr, kind = int(type_text, 16), int(addr_text, 16), int(kind_text, 16)
    if not (0 <= type_ <= 4 and 0 <= addr < 1 << 64 and 0 <= kind < 1 << 32):
        raise ValueError("no such breakpoint type")
    conditions = _parse_conditions(rest)
    # GDB evaluates conditions again at each stop, so one that is too long is left to GDB.
    if type_ > 1 or not conditions or max(map(len, conditions)) > _CONDITION_MAX:
        return [Point(type_, addr, kind)]
    return [Point(type_, addr, kind, cond) for cond in conditions]


def _parse_conditions(rest: bytes) -> list[bytes]:
    conditions: list[bytes] = []
    while rest.startswith(b"X"):
        length_text, _, rest = rest[1:].partition(b",")
        length = int(length_text, 16)
        code = bytes.fromhex(rest[: 2 * length].decode("ascii"))
        if len(code) != length:
            raise ValueError("a condition is cut short")
        conditions.append(code)
        rest = rest[2 * length :].removeprefix(b";")
    return conditions


class Breakpoints:
    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._wanted: dict[Point, None] = {}
        self._set: dict[Point, int] = {}
        self._next_id = 1
        self._entry: tuple[int, int] | None = None
        self.say: Callable[[str], None] | None = None  # prints to the user while the rank moves
        self._told: set[Point] = set()
        self.told_kinds = frozenset[str]()  # which of `swbreak`, `hwbreak` the client supports

    def only_entry(self, entry: tuple[int, int] | None) -> None:
        """ENTRY: (address of a function, stack pointer): breakpoints there stop only with that
        value.

        GDB's `reverse-finish` sets a plain breakpoint there, which deeper calls would hit.
        """
        self._entry = entry

    def insert(self, points: list[Point]) -> None:
        if points[0].type > 1 and points[0].kind > _WATCH_MAX:
            raise RdbError(f"cannot watch {points[0].kind} bytes: at most {_WATCH_MAX}")
        # A second Z for the same place replaces its conditions (GDB manual, E.2, `Z0`).
        self.remove(points[0])
        for point in points:
            self._wanted[self._of_entry(point)] = None

    def _of_entry(self, point: Point) -> Point:
        if self._entry is None or point.type > 1 or point.cond or point.addr != self._entry[0]:
            return point
        return replace(point, cond=sp_is(self._entry[1]))

    def remove(self, point: Point) -> None:
        same = (point.type, point.addr, point.kind)
        for old in [p for p in self._wanted if (p.type, p.addr, p.kind) == same]:
            del self._wanted[old]

    def breaks_at(self, pc: int) -> bool:
        """Is there a breakpoint, whatever its condition?"""
        return any(point.type <= 1 and point.addr == pc for point in self._wanted)

    @property
    def watches(self) -> bool:
        return any(point.type > 1 for point in self._wanted)

    def arm(self) -> None:
        """Sets the wanted points in the timeline and clears all others."""
        for point in [p for p in self._set if p not in self._wanted]:
            id_ = self._set.pop(point)
            if point.type <= 1:
                self._timeline.clear_breakpoint(id_)
            else:
                self._timeline.clear_watchpoint(id_)
        for point in self._wanted:
            if point in self._set:
                continue
            id_ = self._next_id
            self._next_id += 1
            if point.type <= 1:
                self._timeline.set_breakpoint(id_, point.addr, point.cond)
            else:
                fast = self._timeline.set_watchpoint(
                    id_, point.addr, max(point.kind, 1), _WATCH_KINDS[point.type]
                )
                if not fast:
                    self._tell(point)
            self._set[point] = id_

    def _tell(self, point: Point) -> None:
        """Tells the user, once for each point, that the processor cannot watch these bytes."""
        if point in self._told or self.say is None:
            return
        self._told.add(point)
        self.say(
            f"rdb: no hardware watchpoint is left for the {point.kind} bytes at {point.addr:#x}; "
            "rdb protects their pages instead, which is slower\n"
        )

    def stop_word(self, id_: int, addr: int) -> str:
        """The part of a stop reply that names the point."""
        point = next((p for p, number in self._set.items() if number == id_), None)
        if point is None:
            return ""
        if point.type <= 1:
            word = "hwbreak" if point.type else "swbreak"
            return f"{word}:;" if word in self.told_kinds else ""
        inside = point.addr <= addr < point.addr + max(point.kind, 1)
        return f"{_STOP_WORDS[point.type]}:{addr if inside else point.addr:x};"
