"""Results and errors of motions along a timeline."""

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
    "until",
]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why and where a motion ended.

    `gone`: the thread that was to move does not run again; `root`: the motion left a branch;
    `until`: it reached its limit (points.py, Until).
    """

    reason: Reason
    id: int = 0  # of the breakpoint or watchpoint
    addr: int = 0  # breakpoint: its pc; watchpoint: accessed address; signal: address of the fault
    signal: int = 0
    text: str = ""  # for the user: how the recording ends, what diverged
    thread: int = 0  # the thread that moved, if it is not the one that runs next
    by_event: bool = False  # watchpoint: an event made the change, not an instruction


class NoSuchPosition(RdbError):
    """A position that the recording does not have."""

    exit_code = 4
    hint = "`goto START` and `goto END` always work"


class Strayed(Diverged):
    """The replica asked for something that the log does not answer; it has stopped there."""

    def __init__(self, message: str, stop: Stop) -> None:
        super().__init__(message)
        self.stop = stop


class Interrupted(Exception):
    """The user stopped a motion; the timeline goes back to where it was."""

    def __init__(self, stop: Stop | None = None) -> None:
        super().__init__("interrupted")
        self.stop = stop  # where the replica stopped, if it was running
