"""Names that users of GDB, rr and Undo know.  The GDB extension does the work in each rank."""

from __future__ import annotations

from rdb.commands.registry import Group, Need, command
from rdb.session.session import Outcome, Session


@command("run", group=Group.TIME, usage="run [EVENT]", needs=Need.STOPPED)
async def run(session: Session, event: str = "") -> Outcome:
    """Go to an event, or to the start if none is given (as in rr)."""
    return await session.run(f"run {event}".strip())


@command("start", group=Group.TIME, needs=Need.STOPPED)
async def start(session: Session) -> Outcome:
    """Go to the beginning of the main program, with a temporary breakpoint (as in GDB)."""
    return await session.run("rdb-start", text="start")


@command("starti", group=Group.TIME, needs=Need.STOPPED)
async def starti(session: Session) -> Outcome:
    """Go to the start of the recording (as in GDB)."""
    return await session.run("run", text="starti")


@command("checkpoint", group=Group.TIME, needs=Need.STOPPED)
async def checkpoint(session: Session) -> Outcome:
    """Remember where each rank in focus stands, for `restart N` (as in rr).

    Each rank numbers its own. In a branch it is the state of the branch. `info checkpoints` lists
    them, `delete checkpoint N` forgets one.
    """
    return await session.run("checkpoint")


@command("restart", group=Group.TIME, usage="restart N", needs=Need.STOPPED)
async def restart(session: Session, number: int) -> Outcome:
    """Go to checkpoint N in each rank in focus (as in rr)."""
    return await session.run(f"restart {number}")


@command("info checkpoints", group=Group.TIME, needs=Need.STOPPED)
async def info_checkpoints(session: Session) -> Outcome:
    """List the checkpoints of each rank in focus."""
    return await session.run("info checkpoints")


@command("delete checkpoint", group=Group.TIME, usage="delete checkpoint N", needs=Need.STOPPED)
async def delete_checkpoint(session: Session, number: int) -> Outcome:
    """Forget a checkpoint."""
    return await session.run(f"delete checkpoint {number}")


@command(
    "ugo",
    group=Group.TIME,
    usage="ugo start|end|event N|time N|bookmark NAME",
    needs=Need.STOPPED,
)
async def ugo(session: Session, to: str) -> Outcome:
    """Go to a place (as in Undo); a time is an event or a position, as `when` shows it."""
    return await session.run(f"ugo {to}")


@command("uinfo", group=Group.TIME, usage="uinfo time|bookmarks", needs=Need.STOPPED)
async def uinfo(session: Session, what: str) -> Outcome:
    """Say where in the recording each rank in focus stands (as in Undo)."""
    return await session.run(f"uinfo {what}")


@command("ubookmark", group=Group.TIME, usage="ubookmark [NAME]", needs=Need.STOPPED)
async def ubookmark(session: Session, name: str = "") -> Outcome:
    """The same as `bookmark` (as in Undo)."""
    return await session.run(f"ubookmark {name}".strip())
