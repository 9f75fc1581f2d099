"""States of a branch that can be come back to.

What follows a change is not in the recording, so no position names it and no log leads there again:
a stopped copy of the replica is kept instead, and forked when somebody comes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rdb.errors import Diverged
from rdb.recording.log.syscalls import SYSCALLS
from rdb.replay.agent import Gpr, Stop
from rdb.timeline.position import Position
from rdb.timeline.walker import Walker


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """One state in a branch; owns its replica."""

    number: int  # of the branch
    root: Position  # where it left the recording
    root_gpr: Gpr
    moved: bool  # it has gone on from there
    walker: Walker

    def close(self) -> None:
        self.walker.close()


@dataclass(frozen=True, slots=True)
class Root:
    """Where the present branch left the recording."""

    number: int
    gpr: Gpr


def unanswered(error: Diverged, stop: Stop) -> str:
    """What to say when a branch asks for something that is not in the log."""
    _, _, what = error.message.partition("recording: ")
    what = re.sub(r"system call (\d+)", _named, what)
    return (
        f"rdb: the branch asks for what the recording cannot answer, after event {stop.event} "
        f"({what or error.message}); it stops here, `undo` takes it back"
    )


def _named(found: re.Match[str]) -> str:
    known = SYSCALLS.get(int(found[1]))
    return f"{found[0]} ({known[0]})" if known else found[0]
