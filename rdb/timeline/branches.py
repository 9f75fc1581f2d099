"""States of a branch to which the user can return.

What follows a change is not in the recording, so no position names it and no log leads there again.
So a stopped copy of the replica is kept, and forked when the user returns.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rdb.errors import Diverged
from rdb.recording.log.syscalls import SYSCALLS
from rdb.replay.agent import Gpr, Stop
from rdb.timeline.position import Position
from rdb.timeline.walker import Walker


class BranchPoint(NamedTuple):
    """One state in a branch; owns its replica."""

    number: int  # number of the branch
    root: Position  # where it left the recording
    root_gpr: Gpr
    moved: bool  # the branch has moved since it left the recording
    walker: Walker

    def close(self) -> None:
        self.walker.close()


class Root(NamedTuple):
    """Where the present branch left the recording."""

    number: int
    gpr: Gpr


def unanswered(error: Diverged, stop: Stop) -> str:
    """The text for a branch that asks for something that is not in the log."""
    _, _, what = error.message.partition("recording: ")
    what = re.sub(r"system call (\d+)", _named, what)
    return (
        f"rdb: the branch stops after event {stop.event}: the recording cannot answer what it asks "
        f"next ({what or error.message}); `undo` goes back"
    )


def _named(found: re.Match[str]) -> str:
    known = SYSCALLS.get(int(found[1]))
    return f"{found[0]} ({known[0]})" if known else found[0]
