"""The state of a rank, from the GDB extension's `rdb-state`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath

from rdb.session.mi import json_answer


@dataclass(frozen=True)
class Place:
    """A line of the program."""

    function: str | None
    file: str | None
    line: int | None

    @property
    def has_source(self) -> bool:
        """Is the source file on this machine?"""
        return self.file is not None and self.line is not None and Path(self.file).exists()

    @property
    def line_of_file(self) -> str | None:
        """`heat.c:31`"""
        return f"{PurePath(self.file).name}:{self.line}" if self.file and self.line else None

    def __str__(self) -> str:
        name = f"{self.function} ()" if self.function else "?"
        if self.file and self.line:
            return f"{name} at {PurePath(self.file).name}:{self.line}"
        return name


@dataclass(frozen=True)
class RankState:
    """A rank's position, and the length of its command log (`history`)."""

    event: int
    position: str
    branch: bool
    at_start: bool
    at_end: bool
    pc: int
    place: Place
    history: int
    undone: int
    thread: int | None = None
    """The selected thread, if the program has more than one."""
    branch_title: str | None = None
    """Name or number of the branch; None: in the recording."""
    lost: tuple[str, ...] = ()
    """Parts of its recording that cannot be used."""
    end_known: bool = True
    """Of a rank at its end: does the recording say how far it came after its last event?"""
    own: Place | None = None
    """The user's line that called the library at `place`; None: `place` is the user's."""

    @property
    def standing(self) -> str:
        """The position as text, the user's own line first."""
        thread = "" if self.thread is None else f"thread {self.thread}: "
        if self.own is None:
            return f"{thread}{self.place}"
        return f"{thread}{self.own}, inside {self.place.function or hex(self.pc)}"

    @property
    def point(self) -> str:
        """`start`, `end` or the event, as the prompt shows it; `after 3`: the end is not known."""
        if self.at_end and not self.branch:
            return "end" if self.end_known else f"after {self.event:,}"
        if self.at_start and not self.branch:
            return "start"
        return f"{self.event:,}"

    @property
    def limit(self) -> str | None:
        """Which end of the recording it is at; None: neither."""
        if self.branch:
            return None
        if self.at_end:
            return "end of the recording" if self.end_known else "the last; the end is not known"
        return "start of the recording" if self.at_start else None


def parse_state(text: str) -> RankState:
    """Converts the answer of `rdb-state`."""
    raw = json_answer("rdb-state", text)
    pc = raw.get("pc") or 0
    own = raw.get("own")
    return RankState(
        event=int(raw["event"]),
        position=str(raw["position"]),
        branch=bool(raw.get("branch")),
        at_start=bool(raw.get("at_start")),
        at_end=bool(raw.get("at_end")),
        end_known=bool(raw.get("end_known", True)),
        pc=int(pc, 0) if isinstance(pc, str) else int(pc),
        place=Place(raw.get("function"), raw.get("file"), raw.get("line")),
        history=int(raw.get("history", 0)),
        undone=int(raw.get("undone", 0)),
        thread=raw.get("thread"),
        branch_title=raw.get("branch_title"),
        lost=tuple(raw.get("lost", ())),
        own=None if own is None else Place(**own),
    )
