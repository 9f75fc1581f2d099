"""What a restart is to do: of each rank from which image to which event, and what is sent again."""

from __future__ import annotations

from dataclasses import dataclass

from rdb.errors import RdbError, UnknownJob
from rdb.live.consistent import Cut, Traffic, finalized, uses_mpi
from rdb.live.cut import cut_event
from rdb.live.world import start_image
from rdb.recording import Job, RankRecording


@dataclass(frozen=True, slots=True)
class RankPlan:
    recording: RankRecording
    event: int
    image: int
    sends: list[tuple[int, int]]
    """Events whose messages were under way, and which of theirs."""


@dataclass(frozen=True, slots=True)
class Plan:
    ranks: dict[int, RankPlan]
    cut: Cut
    launched: bool
    """By mpirun."""


def make_plan(job: Job, rank: int | None, at: str | None) -> Plan:
    """Refuses what cannot be brought back, as far as the recording says."""
    first = job.ranks[0] if rank is None else rank
    if first not in job.ranks:
        raise UnknownJob(f"{job.name} has no rank {first}")
    event = cut_event(job.rank(first), at)
    launched = len(job.ranks) > 1 or uses_mpi(job)
    cut = Traffic(job).cut(first, event) if launched else Cut({first: event}, [])
    ranks = {}
    for one in job.ranks:
        recording, until = job.rank(one), cut.events[one]
        if finalized(job, one, until):
            raise RdbError(
                f"rank {one} has called MPI_Finalize by event {until}: MPI cannot begin again",
                "choose an earlier event",
            )
        image = start_image(recording, until)
        ranks[one] = RankPlan(recording, until, image, cut.sent_again(one))
    return Plan(ranks, cut, launched)


def plan_lines(plan: Plan) -> list[str]:
    """The plan as a user reads it."""
    lines = []
    for rank, one in plan.ranks.items():
        what = one.recording.describe(one.event) if one.event else "its beginning"
        lines.append(
            f"rank {rank}: replay from checkpoint {one.image} to event {one.event}, then live "
            f"({what})"
        )
    for message in plan.cut.under_way:
        lines.append(
            f"under way: {message.size_bytes} bytes from rank {message.source} (event "
            f"{message.sent}) to rank {message.destination}: sent again"
        )
    if plan.launched:
        lines.append("checked: nothing was received before it was sent, no collective is cut")
    return lines
