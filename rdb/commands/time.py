"""Commands that move through time.  The GDB extension does the work in each rank."""

from __future__ import annotations

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import History
from rdb.session import Outcome, Session
from rdb.session.session import Travelled


@command("undo", group=Group.TIME, usage="undo [COUNT]", needs=Need.STOPPED)
async def undo(session: Session, count: int = 1) -> Travelled:
    """Take back the last command, or the last COUNT.

    Each command is undone in exactly the ranks it went to, wherever the focus is now; positions,
    breakpoints, displays, settings and the focus are as they were before it. Commands that changed
    nothing are passed over.
    """
    return await session.undo(count)


@command("redo", group=Group.TIME, usage="redo [COUNT]", needs=Need.STOPPED)
async def redo(session: Session, count: int = 1) -> Travelled:
    """Do again what `undo` took back."""
    return await session.redo(count)


@command("history", group=Group.TIME)
async def history(session: Session) -> History:
    """List the commands of this session, the ranks they went to and how far they moved them."""
    return History(session.log.done, session.log.undone)


@command("when", group=Group.TIME, needs=Need.STOPPED)
async def when(session: Session) -> Outcome:
    """Say where in the recording each rank in focus stands."""
    return await session.run("when")


@command(
    "goto", group=Group.TIME, usage="goto EVENT|start|end|POSITION|BOOKMARK", needs=Need.STOPPED
)
async def goto(session: Session, to: str) -> Outcome:
    """Go to an event, the start, the end, a position (as `when` shows it) or a bookmark.

    Each rank numbers its own events: the same number is not the same moment in two ranks.
    """
    return await session.run(f"goto {to}")


@command("bookmark", group=Group.TIME, usage="bookmark [NAME]", needs=Need.STOPPED)
async def bookmark(session: Session, name: str = "") -> Outcome:
    """Give the position of each rank in focus a name, for `goto`; without NAME list them."""
    return await session.run(f"bookmark {name}".strip())
