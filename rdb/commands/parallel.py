"""Commands about what ranks have to do with each other: messages, and who waits for whom."""

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

    Each rank of the job counts as far as it stands, one that has not been opened to its end. A
    message is on its way if its sender has sent it, or waits with it in a send at the end of its
    recording, and its receiver has not received it; it is expected if a receive that could take it
    has been posted, which one is in which a rank waits at the end of its recording. Of those that
    were received the newest COUNT are shown: 8 if nothing is said, of more than four ranks none.
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
    A rank is deadlocked if nobody that it waits for can ever go on. What the logs leave open is
    unknown, and it says why. `rdb deadlock JOB` does it at the end of a recording.
    """
    return await deadlock(session)
