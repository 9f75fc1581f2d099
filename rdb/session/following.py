"""Following recordings that grow.

A rank whose log has not grown costs only a look at its last record.  All new events are taken in as
one batch.  The longer a batch took, the longer the pause before the next one: a job that records
faster than it can be followed is followed in larger steps, without using the whole machine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from rdb.session.debugger import RankAnswer
from rdb.session.growth import Growth
from rdb.session.ranks import Rank
from rdb.session.session import Session

_EVERY_S = 0.5
_REST = 4  # pause / time of the last batch


async def follow(
    session: Session, seconds: float = 0, on_batch: Callable[[], None] | None = None
) -> dict[Rank, str]:
    """Goes to the ends of the recordings of the ranks in focus, and follows them for SECONDS or
    until they end; one command of the history.

    Rank -> "", or why it cannot be followed.  ON_BATCH is called after each batch.
    """
    until = time.monotonic() + seconds
    growth, interrupts = Growth(session.job), session.interrupts
    answers: dict[Rank, RankAnswer] = {}
    said: dict[Rank, str] = {}
    try:
        while True:
            began = time.monotonic()
            await asyncio.to_thread(session.live.fetch, session.focus)
            grown = growth.since_last(session.focus)
            if grown:
                moved, problems = await session.to_newest(grown)
                for rank, answer in moved.items():
                    first = answers.get(rank, answer)
                    answers[rank] = replace(answer, before=first.before)
                if session.interrupts > interrupts:
                    # Ctrl-C: a rank that has not moved yet is no failure.
                    return dict(sorted({**dict.fromkeys(grown, ""), **said}.items()))
                said.update(problems)
                if on_batch is not None:
                    on_batch()
            now = time.monotonic()
            if now >= until or not growth.running():
                return dict(sorted(said.items()))
            pause = max(_EVERY_S, _REST * (now - began))
            await asyncio.sleep(min(pause, max(until - now, 0)))
    finally:
        text = f"follow {seconds:g}" if seconds else "follow"
        session.log.add(text, answers, session.focus, session.focus)
