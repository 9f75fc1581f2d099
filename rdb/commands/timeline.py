"""The command that draws all ranks over the recorded time."""

from __future__ import annotations

import re

from rdb.commands.registry import Group, command
from rdb.commands.sets import ranks_of
from rdb.commands.values import Timeline
from rdb.errors import RdbError, Usage
from rdb.recording.messages.lanes import RankTimes, whole
from rdb.session.session import Session

_USAGE = "usage: timeline [RANKS] [SECONDS..SECONDS]"
_PART = re.compile(r"(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")


@command("timeline", group=Group.RANKS, usage="timeline [RANKS] [SECONDS..SECONDS]")
async def timeline(session: Session, arguments: str = "") -> Timeline:
    """Draw the ranks over the recorded time: events, messages, checkpoints, where each stands.

    A line for each of RANKS, or of the ranks in focus. Columns are equal parts of the time from the
    first event to the last, or from one second after the beginning to another: `timeline 1.5..1.6`.
    The times of ranks on several hosts are those of the hosts' clocks.
    """
    words = arguments.split()
    part = _PART.fullmatch(words[-1]) if words else None
    if part is not None:
        words.pop()
        if float(part[1]) >= float(part[2]):
            raise Usage(f"{part[0]} is not a span of time", _USAGE)
    ranks = ranks_of(session, ",".join(words)) if words else session.focus
    times: dict[int, RankTimes] = {}
    problems = {}
    for rank in ranks:
        try:
            times[rank] = RankTimes(session.job.rank(rank))
        except RdbError as error:
            problems[rank] = error.message
    if not times:
        raise RdbError(f"nothing to draw: {', '.join(sorted(set(problems.values())))}")
    span = whole(times.values())
    if part is not None:
        span = span.part(float(part[1]), float(part[2]))
    states = session.states
    # A rank without a state has not been looked at: it stands at the end of its recording.
    events = {
        rank: states[rank].event if rank in states else one.events[-1]
        for rank, one in times.items()
    }
    return Timeline(times, span, events, problems)
