"""What a motion along a timeline answers, and what can go wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rdb.errors import Diverged, RdbError
from rdb.replay.agent import Stop

Reason = Literal[
    "step",
    "breakpoint",
    "watchpoint",
    "start",
    "root",
    "end",
    "signal",
    "interrupt",
    "diverged",
    "seek",
    "gone",
]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why and where a motion ended.  `gone`: the thread that was to move does not run again;
    `root`: back out of a branch."""

    reason: Reason
    id: int = 0  # of the breakpoint or watchpoint
    addr: int = 0  # breakpoint: its pc; watchpoint: what was accessed; signal: the fault's address
    signal: int = 0
    text: str = ""  # for people: how the recording ends, what diverged
    thread: int = 0  # whose motion it was, if not that of the one that runs next
    by_event: bool = False  # watchpoint: the change came with an event, not with an instruction


class NoSuchPosition(RdbError):
    """A position that the recording does not have."""

    exit_code = 4
    hint = "`goto START` and `goto END` always work"


class Strayed(Diverged):
    """The replica asked for something that the log does not answer; it stands there."""

    def __init__(self, message: str, stop: Stop) -> None:
        super().__init__(message)
        self.stop = stop


class Interrupted(Exception):
    """Somebody asked a motion to stop; the timeline goes back to where it was."""

    def __init__(self, stop: Stop | None = None) -> None:
        super().__init__("interrupted")
        self.stop = stop  # where the replica stopped, if it was running
