"""`rdb messages` and `rdb deadlock`: how the ranks of a job depend on each other."""

from __future__ import annotations

import argparse
import bisect
import sys
from dataclasses import asdict
from typing import Any

from rdb.cli.needed import need_gdb, need_log, need_ranks
from rdb.cli.output import print_json
from rdb.errors import RdbError
from rdb.recording import Job, RankRecording
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.queues import queues
from rdb.recording.messages.wait_graph import Call
from rdb.recording.order import expanded, order_only


def messages_command(args: argparse.Namespace) -> int:
    """Exit code: 0 if messages are under way or awaited, 1 if not."""
    job = need_log(need_ranks(args.job, replayed=False))
    ranks = job.ranks if args.rank is None else [job.rank(args.rank).rank]
    asked = _asked_at_end(job) if args.at is None else {}
    found = queues(Messages(job), positions(job, args.rank, args.at), ranks, args.limit, asked)
    if args.json:
        print_json([asdict(one) for one in found])
    else:
        from rdb.console.queues import show_queues
        from rdb.console.terminal import make_console

        show_queues(found, make_console())
    return 0 if any(one.posted or one.incoming or one.outgoing for one in found) else 1


def _asked_at_end(job: Job) -> dict[int, Call]:
    """The MPI calls that ranks had not finished at their ends.  Only replicas know them."""
    found = {}
    for rank in job.ranks:
        recording = job.rank(rank)
        if recording.state.exited or recording.state.became:
            continue
        if order_only(recording) and not expanded(recording):
            print(
                f"rdb: rank {rank}: the call that it waits in at its end is not shown; "
                f"rdb expand {job.name}",
                file=sys.stderr,
            )
            continue
        try:
            calls = _calls_at_end(recording)
        except RdbError as error:
            why = f"the call that it waits in at its end is not known: {error.message}"
            print(f"rdb: rank {rank}: {why}", file=sys.stderr)
            continue
        for call in calls[:1]:
            found[rank] = Call(call["call"], call["text"], call["arguments"])
    return found


def _calls_at_end(recording: RankRecording) -> list[dict[str, Any]]:
    # late import: of ranks that ended by themselves only the log is read
    from rdb.server.asking import asked
    from rdb.timeline.timeline import Timeline

    with Timeline(recording) as timeline:
        timeline.goto_end()
        calls: list[dict[str, Any]] = asked(timeline, recording)["calls"]
        return calls


def positions(job: Job, rank: str | None, event: int | None) -> dict[int, int]:
    """The last event of each rank at the recorded time of RANK's EVENT (None: at the end)."""
    if event is None:
        return {one: job.rank(one).last_event for one in job.ranks}
    own = job.rank(job.ranks[0] if rank is None else rank)
    at_ns = own.event(event).at_ns
    found = {}
    for one in job.ranks:
        records = [record for record in job.rank(one).records() if record.kind.is_event]
        place = bisect.bisect_right([record.at_ns for record in records], at_ns)
        found[one] = records[place - 1].event + records[place - 1].repeat if place else 0
    return {**found, own.rank: event}


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
