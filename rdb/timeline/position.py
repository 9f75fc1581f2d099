"""Positions in a recording.

The canonical name of a position is `EVENT` (right after that event was answered) or `EVENT:PC:N`
(the N-th arrival at PC since then; being at PC when the event is answered is arrival 1).  During a
motion a position is known in cheaper terms ("three more hits of that breakpoint, then two steps").
So a Position is an event followed by moves; the canonical name is computed on demand.  Both forms
are exact, and both can be printed and parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rdb.errors import Usage


@dataclass(frozen=True, slots=True)
class Arrive:
    """The n-th arrival at pc since the event; the answer of the event itself counts."""

    pc: int
    n: int

    def __str__(self) -> str:
        return f":{self.pc:#x}:{self.n}"


@dataclass(frozen=True, slots=True)
class Hit:
    """The n-th arrival at pc from the position on; being at pc at the position does not count."""

    pc: int
    n: int

    def __str__(self) -> str:
        return f"+h{self.pc:#x}.{self.n}"


@dataclass(frozen=True, slots=True)
class Steps:
    """N instructions further."""

    n: int

    def __str__(self) -> str:
        return f"+s{self.n}"


@dataclass(frozen=True, slots=True)
class WatchHit:
    """The n-th hit of a watchpoint from the position on: right after the accessing instruction."""

    addr: int
    length: int
    kind: int
    n: int

    def __str__(self) -> str:
        return f"+w{self.addr:#x}.{self.length}.{self.kind}.{self.n}"


@dataclass(frozen=True, slots=True)
class Raised:
    """Just before the program handles its n-th fault from the position on; one with which the
    position itself was reached does not count."""

    n: int

    def __str__(self) -> str:
        return f"+f{self.n}"


@dataclass(frozen=True, slots=True)
class ToEnd:
    """To the end of the recording, or to the fault that ended it."""

    n: int = 1

    def __str__(self) -> str:
        return "+e"


Move = Arrive | Hit | Steps | WatchHit | Raised | ToEnd

_MOVE = re.compile(
    r":(?P<pc>(?:0x)?[0-9a-f]+):(?P<n>\d+)"
    r"|\+h(?P<hit>0x[0-9a-f]+)\.(?P<hits>\d+)"
    r"|\+s(?P<steps>\d+)"
    r"|\+w(?P<watch>0x[0-9a-f]+)\.(?P<length>\d+)\.(?P<kind>\d+)\.(?P<times>\d+)"
    r"|\+f(?P<raised>\d+)"
    r"|\+(?P<end>e)"
)
_HINT = "a position is EVENT or EVENT:PC:N, as `when` prints it"


def _joined(first: Move, second: Move) -> Move | None:
    """Two moves joined into one; None: that is not possible."""
    match first, second:
        case Steps(a), Steps(b):
            return Steps(a + b)
        case Hit(pc, a), Hit(other, b) if pc == other:
            return Hit(pc, a + b)
        case Arrive(pc, a), Hit(other, b) if pc == other:
            return Arrive(pc, a + b)
        case WatchHit(), WatchHit() if replace(first, n=0) == replace(second, n=0):
            return replace(first, n=first.n + second.n)
        case Raised(a), Raised(b):
            return Raised(a + b)
        case ToEnd(), ToEnd():
            return first
    return None


def _remainder(whole: Move, part: Move) -> Move | None:
    """The rest of move WHOLE after move PART; None: PART is not on its way."""
    if type(whole) is not type(part) or part.n >= whole.n:
        return None
    if replace(whole, n=0) != replace(part, n=0):
        return None
    if isinstance(whole, Arrive):
        return Hit(whole.pc, whole.n - part.n)
    return replace(whole, n=whole.n - part.n)


@dataclass(frozen=True, slots=True)
class Position:
    """An event and the moves made since it was answered (none: right at the answer)."""

    event: int
    moves: tuple[Move, ...] = ()

    @classmethod
    def at(cls, event: int, pc: int | None = None, n: int = 1) -> Position:
        return cls(event) if pc is None else cls(event, (Arrive(pc, n),))

    @classmethod
    def parse(cls, text: str) -> Position:
        text = text.strip().lower()
        head = re.match(r"\d+", text)
        if head is None:
            raise Usage(f"{text!r} is not a position", _HINT)
        moves: list[Move] = []
        at = head.end()
        while at < len(text):
            found = _MOVE.match(text, at)
            if found is None or (found["pc"] and moves):
                raise Usage(f"{text!r} is not a position", _HINT)
            moves.append(_move(found))
            at = found.end()
        if any(move.n < 1 for move in moves):
            raise Usage(f"{text!r} is not a position", "arrivals are counted from 1")
        return cls(int(head[0]), tuple(moves))

    @property
    def canonical(self) -> bool:
        return not self.moves or (len(self.moves) == 1 and isinstance(self.moves[0], Arrive))

    @property
    def pc(self) -> int | None:
        """The pc of a canonical position that has one."""
        first = self.moves[0] if self.moves else None
        return first.pc if self.canonical and isinstance(first, Arrive) else None

    @property
    def n(self) -> int:
        return self.moves[0].n if self.moves and self.canonical else 0

    @property
    def raised(self) -> bool:
        """Was it reached as the place of a fault?"""
        return bool(self.moves) and isinstance(self.moves[-1], Raised)

    def then(self, move: Move) -> Position:
        """The position one move further in the same interval."""
        if self.moves and (joined := _joined(self.moves[-1], move)) is not None:
            return Position(self.event, (*self.moves[:-1], joined))
        return Position(self.event, (*self.moves, move))

    def before_last_move(self) -> Position:
        return Position(self.event, self.moves[:-1])

    def after(self, earlier: Position) -> tuple[Move, ...] | None:
        """The moves from EARLIER to this position; None: EARLIER is not on its way."""
        if earlier.event != self.event or len(earlier.moves) > len(self.moves):
            return None
        common = len(earlier.moves)
        if self.moves[:common] == earlier.moves:
            return self.moves[common:]
        if self.moves[: common - 1] != earlier.moves[:-1]:
            return None
        rest = _remainder(self.moves[common - 1], earlier.moves[-1])
        return None if rest is None else (rest, *self.moves[common:])

    def __str__(self) -> str:
        return str(self.event) + "".join(str(move) for move in self.moves)


def _move(found: re.Match[str]) -> Move:
    if found["pc"]:
        return Arrive(int(found["pc"], 16), int(found["n"]))
    if found["hit"]:
        return Hit(int(found["hit"], 16), int(found["hits"]))
    if found["steps"]:
        return Steps(int(found["steps"]))
    if found["watch"]:
        length, kind, times = (int(found[key]) for key in ("length", "kind", "times"))
        return WatchHit(int(found["watch"], 16), length, kind, times)
    if found["raised"]:
        return Raised(int(found["raised"]))
    return ToEnd()
