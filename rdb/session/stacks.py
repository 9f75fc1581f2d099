"""Backtraces of many ranks as one tree, in which common frames appear once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rdb.session.ranks import Rank, format_ranks
from rdb.session.state import Place

# interposer/interface/layout.h: RDB_LOW_END, RDB_PROG, RDB_INTERP
_LINKED_END = 0x10000000000
_PROGRAM = 0x102000000000
_PROGRAM_END = 0x103000000000
_SYSTEM = ("/usr/include/", "/usr/lib/")


class Frame(NamedTuple):
    """One frame of a backtrace; `level` 0 is the innermost."""

    level: int
    place: Place
    pc: int = 0
    library: str | None = None

    def __str__(self) -> str:
        if self.place.line is None and self.library:
            return f"{self.place} from {self.library}"
        return str(self.place)


@dataclass
class StackNode:
    """A frame that RANKS share, and the frames that it called."""

    frame: Frame
    ranks: list[Rank] = field(default_factory=list)
    calls: list[StackNode] = field(default_factory=list)

    @property
    def label(self) -> str:
        return format_ranks(self.ranks)


def parse_frames(payload: Any) -> list[Frame]:
    """The frames of a `-stack-list-frames` result, innermost first."""
    stack = payload.get("stack", []) if isinstance(payload, dict) else []
    frames = []
    for item in stack:
        raw = item.get("frame", item)
        line = raw.get("line")
        path = raw.get("fullname") or raw.get("file")
        place = Place(raw.get("func"), path, None if line is None else int(line))
        frames.append(
            Frame(
                level=int(raw["level"]),
                place=place,
                pc=int(raw.get("addr", "0"), 0),
                library=raw.get("from"),
            )
        )
    return frames


def own_frame(frames: Sequence[Frame]) -> Frame | None:
    """The user's innermost frame: one with its source, else one of the program; None: none.

    An inline function of a system header counts as the library's.
    """
    for headers in (False, True):
        for frame in frames:
            if frame.place.has_source and (headers or not in_header(frame.place)):
                return frame
    return next((frame for frame in frames if frame.place.line and _in_program(frame.pc)), None)


def in_header(place: Place) -> bool:
    return place.file is not None and place.file.startswith(_SYSTEM)


def _in_program(pc: int) -> bool:
    """Is it an address of the program itself, not of a library?"""
    return pc < _LINKED_END or _PROGRAM <= pc < _PROGRAM_END


def merge_stacks(stacks: Mapping[Rank, Sequence[Frame]]) -> list[StackNode]:
    """One tree from the outermost frame inwards; ranks part where their frames differ."""
    roots: list[StackNode] = []
    for rank in sorted(stacks):
        siblings = roots
        for frame in reversed(stacks[rank]):
            node = next((node for node in siblings if str(node.frame) == str(frame)), None)
            if node is None:
                node = StackNode(frame)
                siblings.append(node)
            node.ranks.append(rank)
            siblings = node.calls
    return roots
