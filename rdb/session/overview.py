"""All ranks of a job at a glance."""

from __future__ import annotations

from typing import NamedTuple

from rdb.errors import RdbError
from rdb.recording.state import DAMAGED, ProcessState
from rdb.session.ranks import Rank
from rdb.session.session import Session
from rdb.session.state import RankState


class RankRow(NamedTuple):
    """One rank: its recording, and its state if it has been opened."""

    rank: Rank
    ended: ProcessState
    events: int
    in_focus: bool
    state: RankState | None
    point: str
    """Position of the rank: `start`, `end`, `after 3` (the end is not known) or an event."""
    problem: str | None = None
    """Why it could not be opened."""
    lost: tuple[str, ...] = ()
    """Parts of the recording that cannot be shown."""


def overview(session: Session) -> list[RankRow]:
    """A row for every rank of the job."""
    states = session.states
    rows = []
    for rank in session.ranks:
        problem = session.failed.get(rank)
        try:
            recording = session.job.rank(rank)
            ended, events = recording.state, recording.last_event + 1
        except RdbError as error:
            ended, events, problem = DAMAGED, 0, problem or error.message
        rows.append(
            RankRow(
                rank=rank,
                ended=ended,
                events=events,
                in_focus=rank in session.focus,
                state=states.get(rank),
                point=session.point(rank),
                problem=problem,
                lost=session.lost_of(rank),
            )
        )
    return rows


def failing(session: Session) -> tuple[Rank, ...]:
    """Ranks that ended by a signal or with an exit code other than 0."""
    return tuple(rank for rank in session.ranks if session.job.rank(rank).state.failed)
