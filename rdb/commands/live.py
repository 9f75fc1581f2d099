"""Commands about a job that still runs."""

from __future__ import annotations

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import Followed, Live
from rdb.session import following
from rdb.session.session import Session


@command("follow", group=Group.LIVE, usage="follow [SECONDS]", needs=Need.STOPPED)
async def follow(session: Session, seconds: int = 0) -> Followed:
    """Read what the ranks in focus have recorded since, and go to the new end.

    A rank of a job that still runs is shown as it was when it was opened; the job goes on. With
    SECONDS it follows for that time, or until Ctrl-C. Between two steps it rests four times as long
    as the last one took; ranks that record nothing cost nothing. `undo` goes back to where the
    ranks stood.
    """

    def say() -> None:
        for rank in session.focus[:1]:
            if seconds and session.on_progress is not None and rank in session.states:
                session.on_progress(rank, f"event {session.states[rank].event:,}")

    followed = await following.follow(session, seconds, say)
    states = {rank: state for rank, state in session.states.items() if rank in followed}
    return Followed(states, {rank: text for rank, text in followed.items() if text})


@command("pause", group=Group.LIVE, needs=Need.STOPPED)
async def pause(session: Session) -> Live:
    """Stop the processes of the ranks in focus that still run.

    The ranks in the console stay where they stand: `follow` goes to where the processes stopped.
    Peers of these ranks wait for them. Ranks that are still paused when the session ends go on.
    """
    return Live(session.live.pause(session.focus))


@command("resume", group=Group.LIVE, needs=Need.STOPPED)
async def resume(session: Session) -> Live:
    """Let the ranks in focus that `pause` has stopped go on."""
    return Live(session.live.resume(session.focus))
