"""Commands about how ranks depend on each other: messages and waiting."""

from __future__ import annotations

from rdb.commands.registry import Group, Need, command
from rdb.commands.values import MessagesShown
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.queues import queues
from rdb.session.deadlock import Deadlock, asked_at_end, deadlock
from rdb.session.session import Session

_FEW, _NEWEST = 4, 8


@command("messages", group=Group.RANKS, usage="messages [COUNT]", needs=Need.STOPPED)
async def messages(session: Session, count: int = 0) -> MessagesShown:
    """Show the message queues of the ranks in focus: receives posted, messages on their way.

    Each rank counts up to where it stands, a rank that has not been opened up to its end. A message
    is on its way if its sender has sent it and its receiver has not received it. A send in which a
    rank waits at the end of its recording counts as sent. A message is expected if a receive that
    could take it has been posted; a receive in which a rank waits at the end of its recording
    counts as posted. The newest COUNT of the received messages are shown, too (8; none with more
    than four ranks).
    `rdb messages JOB` shows the queues of all ranks.
    """
    if not count and len(session.focus) <= _FEW:
        count = _NEWEST
    states = session.states
    at = {
        rank: states[rank].event if rank in states else session.job.rank(rank).last_event
        for rank in session.ranks
    }
    asked = await asked_at_end(session, session.ranks)
    return MessagesShown(queues(Messages(session.job), at, list(session.focus), count, asked))


@command("deadlock", group=Group.RANKS)
async def deadlock_command(session: Session) -> Deadlock:
    """Show which rank waits for which in MPI, with the calls and lines, and name the deadlock.

    Ranks that have been opened count where they stand, the others at the end of their recordings.
    A rank is deadlocked if no rank that it waits for can ever go on. What the logs do not tell is
    shown as unknown, with the reason. `rdb deadlock JOB` looks at the end of a recording.
    """
    return await deadlock(session)
