"""The ranks of a job that are blocked in MPI: which waits for which, and in which line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import Signals

from rdb.errors import RdbError
from rdb.recording.log.describe import call_name
from rdb.recording.messages.messages import Messages
from rdb.recording.messages.wait_graph import ASLEEP, POLLS, Call, WaitFor
from rdb.recording.messages.waiting import wait_for
from rdb.recording.state import ProcessState
from rdb.session.looking import Looking
from rdb.session.mi import json_answer
from rdb.session.ranks import Rank
from rdb.session.session import Session
from rdb.session.stacks import own_frame
from rdb.session.state import Place

# Signals that a program causes itself; a rank killed by another signal might have gone on.
_CRASHES = ("SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS")
_CRASHED = tuple(f"signal {Signals[name].value}" for name in _CRASHES)
_FRAMES = 64
_TURNS, _LEAST = 32, 3  # last events that are examined; polls among them that make a loop


@dataclass(frozen=True)
class Deadlock:
    """The wait-for graph, and the user's own line in which each rank waits."""

    graph: WaitFor
    places: Mapping[Rank, Place]
    problems: Mapping[Rank, str]
    """Ranks that could not be examined, and why."""


async def deadlock(session: Session) -> Deadlock:
    """The deadlocks of a job, with opened ranks at their positions and others at their ends."""
    ended = {
        rank: state
        for rank in session.ranks
        if _is_over(state := session.job.rank(rank).state)
        and (rank not in session.states or session.states[rank].at_end)
    }
    asked = [rank for rank in session.ranks if rank not in ended]
    answers = await session.look(_asked, asked)
    states = session.states
    calls, beside, places, problems, threaded = {}, {}, {}, {}, set()
    for rank, answer in answers.items():
        if isinstance(answer, RdbError):
            problems[rank] = answer.message
            continue
        found, place, threads = answer
        places[rank] = place or states[rank].place
        if threads:
            threaded.add(rank)
        if found:
            calls[rank], *beside[rank] = found
    at = {
        rank: states[rank].event if rank in states else session.job.rank(rank).last_event
        for rank in session.ranks
        if rank not in problems
    }
    answered = [rank for rank in calls if at[rank] < session.job.rank(rank).last_event]
    for rank in at:
        if rank not in calls and rank not in ended and (polls := _polls(session, rank, at[rank])):
            calls[rank] = polls
    lost = {*problems, *session.job.missing}
    graph = wait_for(Messages(session.job), at, calls, ended, answered, lost, threaded, beside)
    return Deadlock(graph, places, problems)


def _polls(session: Session, rank: Rank, event: int) -> Call | None:
    """The polling call, if the last events of a rank are calls that poll; else None."""
    recording = session.job.rank(rank)
    if event < recording.last_event:
        return None
    name, turns = None, 0
    for place in range(event, max(recording.first_event, event - _TURNS), -1):
        record = recording.event(place)
        called = call_name(record)
        if called is None or not called.startswith("MPI_"):
            continue
        if called not in POLLS:
            return None
        name, turns = name or called, turns + 1
        if turns >= _LEAST:
            return Call(name, f"{name}, repeatedly", {})
    return None


def _is_over(state: ProcessState) -> bool:
    return state.exited or state.became or state in _CRASHED


async def asked_at_end(session: Session, ranks: Sequence[Rank]) -> dict[Rank, Call]:
    """The MPI calls in which ranks wait at the ends of their recordings.  Raises RdbError."""
    states = session.states
    waits = [
        rank
        for rank in ranks
        if not _is_over(session.job.rank(rank).state)
        and (rank not in states or states[rank].at_end)
    ]
    found = {}
    for rank, answer in (await session.look(_asked, waits)).items():
        if isinstance(answer, RdbError):
            raise answer
        if answer[0]:
            found[rank] = answer[0][0]
    return found


async def _asked(rank: Looking) -> tuple[list[Call], Place | None, bool]:
    """(calls, place, threads) of a rank.

    `calls`: MPI calls in which its threads wait; empty if a thread can go on without MPI.
    `threads`: other threads may run.
    """
    answer = await rank.gdb.execute("rdb-asked")
    if answer.error is not None:
        raise RdbError(answer.error)
    raw = json_answer("rdb-asked", answer.text)
    if raw["own"] is not None:
        place: Place | None = Place(**raw["own"])
    else:
        own = own_frame(await rank.frames(_FRAMES))
        place = None if own is None else own.place
    calls = [
        Call(one["call"], one["text"], one["arguments"], tuple(one["requests"]), one["thread"])
        for one in raw["calls"]
    ]
    if raw["sleeps"] and not calls and not raw["threads"]:
        return [Call(ASLEEP, "another thread", {})], place, False
    goes_on = not raw["sleeps"] and not raw["asks"]
    return [] if goes_on else calls, place, bool(raw["threads"])
