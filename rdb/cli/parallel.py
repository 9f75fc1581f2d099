"""`rdb messages` and `rdb deadlock`: how the ranks of a job depend on each other."""

from __future__ import annotations

import argparse
import bisect
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rdb.cli.needed import damage, need_gdb, need_log, need_ranks, sound
from rdb.cli.on import need_rank, workers
from rdb.cli.output import print_json
from rdb.errors import DamagedRecording, RdbError, UnknownJob
from rdb.recording import ProcessName, RankRecording, open_job
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.queues import queues
from rdb.recording.messages.wait_graph import Call
from rdb.recording.mpi.communication import RankCommunication
from rdb.recording.order import expanded, order_only


class _Rank(NamedTuple):
    """What is known of one rank at its position."""

    event: int
    communication: RankCommunication
    asked: Call | None
    """The MPI call that it had not finished at its end."""
    problem: str | None
    """Why that is not known."""


def messages_command(args: argparse.Namespace) -> int:
    """Exit code: 0 if messages are under way or awaited, 1 if not."""
    job = need_log(open_job(args.job))
    chosen = None if args.rank is None else ProcessName.parse(args.rank).rank
    with workers(job, None, args.on, "rank") as (pool, there):
        if not there:
            raise UnknownJob(f"{job.name} has no ranks")
        moment = None
        if args.at is not None:
            own = there[0] if chosen is None else chosen
            time_of = partial(_time_of, job.path, args.rank, args.at)
            moment = (own, args.at, next(iter(pool.map(time_of, [own]))))
        look = partial(_look, job.path, args.rank, moment)
        ranks = sound(there, pool.map(look, there))
    if chosen is not None:
        need_rank(job, chosen, ranks)
    for rank, one in ranks.items():
        if one.problem is not None:
            print(f"rdb: rank {rank}: {one.problem}", file=sys.stderr)
    found = queues(
        Messages(job, {rank: one.communication for rank, one in ranks.items()}),
        {rank: one.event for rank, one in ranks.items()},
        list(ranks) if chosen is None else [chosen],
        args.limit,
        {rank: one.asked for rank, one in ranks.items() if one.asked is not None},
    )
    if args.json:
        print_json([asdict(one) for one in found])
    else:
        from rdb.console.queues import show_queues
        from rdb.console.terminal import make_console

        show_queues(found, make_console())
    return 0 if any(one.posted or one.incoming or one.outgoing for one in found) else 1


def _time_of(path: Path, name: str | None, event: int, rank: int) -> int:
    """When the event of the rank, or of the process NAME of it, was answered."""
    recording = open_job(path).rank(rank if name is None else name)
    return recording.event(event).at_ns


def _look(
    path: Path, name: str | None, moment: tuple[int, int, int] | None, rank: int
) -> _Rank | DamagedRecording:
    """MOMENT: a rank, its event, and when that was answered; None: the end.  UnknownJob: the rank
    has no process NAME."""
    job = open_job(path)
    if name is not None and ProcessName.parse(name).rank == rank:
        job.rank(name)
    recording = job.rank(rank)
    damaged = damage(recording)
    if damaged is not None:
        return damaged
    communication = Messages(job).communication(rank)
    if moment is not None:
        at_rank, event, at_ns = moment
        return _Rank(
            event if rank == at_rank else _position(recording, at_ns), communication, None, None
        )
    asked, problem = _asked_at_end(job.name, recording)
    return _Rank(recording.last_event, communication, asked, problem)


def _position(recording: RankRecording, at_ns: int) -> int:
    """The last event that was answered by then."""
    records = [record for record in recording.records() if record.kind.is_event]
    place = bisect.bisect_right([record.at_ns for record in records], at_ns)
    return records[place - 1].event + records[place - 1].repeat if place else 0


def _asked_at_end(job: str, recording: RankRecording) -> tuple[Call | None, str | None]:
    """The MPI call that the rank had not finished at its end, which only a replica knows; and why
    it is not known."""
    if recording.state.exited or recording.state.became:
        return None, None
    if order_only(recording) and not expanded(recording):
        return None, f"the call that it waits in at its end is not shown; rdb expand {job}"
    try:
        for call in _calls_at_end(recording):
            return Call(call["call"], call["text"], call["arguments"]), None
    except RdbError as error:
        return None, f"the call that it waits in at its end is not known: {error.message}"
    return None, None


def _calls_at_end(recording: RankRecording) -> list[dict[str, Any]]:
    # late import: of ranks that ended by themselves only the log is read
    from rdb.server.asking import asked
    from rdb.timeline.timeline import Timeline

    with Timeline(recording) as timeline:
        timeline.goto_end()
        calls: list[dict[str, Any]] = asked(timeline, recording)["calls"]
        return calls


def deadlock_command(args: argparse.Namespace) -> int:
    """Exit code: 0 if there is no deadlock, 1 if there is one or it is unknown."""
    job = need_log(need_ranks(args.job))
    need_gdb()
    from rdb.console.lifetime import supervised
    from rdb.console.terminal import make_console
    from rdb.console.waits import show_deadlock
    from rdb.session.deadlock import Deadlock, deadlock
    from rdb.session.session import Session

    async def look() -> Deadlock:
        async with Session(job) as session:
            return await deadlock(session)

    found: list[Deadlock] = []

    async def work() -> int:
        found.append(await look())
        return 1 if found[0].graph.certain or found[0].graph.unknown else 0

    status = supervised(work())
    if found and args.json:
        print_json(asdict(found[0]))
    elif found:
        show_deadlock(found[0], make_console())
    return status
