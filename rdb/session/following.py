"""Keeping up with recordings that grow.

A rank whose log has not grown costs nothing but a look at the last record of its log.  What has
grown is taken in as one batch, and the longer that took, the longer the next one is waited for: so
a job that records faster than it can be followed is followed in larger steps, not with all of the
machine.
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
_REST = 4  # following may take one part of the time, these are left to the job


async def follow(
    session: Session, seconds: float = 0, on_batch: Callable[[], None] | None = None
) -> dict[Rank, str]:
    """Goes to the ends of the recordings of the ranks in focus, and keeps up with them for so long
    or until they end: of each "", or why not.  One command of the history."""
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
                    # Ctrl-C: a rank that was about to go on is where it was, which is no failure.
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
