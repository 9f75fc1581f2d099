"""Starts the GDB of a rank, or forks it from one that has read the symbols."""

from __future__ import annotations

import asyncio

from rdb.errors import RdbError
from rdb.recording import Job
from rdb.session.debugger import RankDebugger
from rdb.session.ranks import Rank
from rdb.session.template import Template

_AT_ONCE = 4  # starting GDBs read symbols: more of them would only slow each other


class Starts:
    """Makes the GDBs of ranks; FORKS false: each is started by itself (jobs of few ranks)."""

    def __init__(self, job: Job, at_end: bool, forks: bool) -> None:
        self._job = job
        self._at_end = at_end
        self._forks = forks
        self._template: Template | RdbError | None = None
        self._template_lock = asyncio.Lock()
        self._starts = asyncio.Semaphore(_AT_ONCE)

    async def open(self, rank: Rank) -> RankDebugger:
        async with self._starts:
            forked = await self._fork(rank) if self._forks else None
            return forked or await RankDebugger.open(
                str(self._job.path),
                rank,
                self._at_end,
                address=self._job.address(rank),
            )

    async def prepare(self, rank: Rank) -> None:
        """Makes the template, for the program of RANK; an error is kept for `_fork`."""
        async with self._template_lock:
            if self._template is None:
                job, address = str(self._job.path), self._job.address(rank)
                try:
                    self._template = await Template.open(job, address)
                except RdbError as error:
                    self._template = error

    async def close(self) -> None:
        """Closes the template; close the GDBs of ranks first."""
        if isinstance(self._template, Template):
            await self._template.close()
            self._template = None

    async def _fork(self, rank: Rank) -> RankDebugger | None:
        """A forked GDB; None: the rank runs another program, or there is no template."""
        await self.prepare(rank)
        if not isinstance(self._template, Template):
            return None
        address = self._job.address(rank)
        try:
            return await RankDebugger.forked(rank, self._template, address, self._at_end)
        except (RdbError, OSError, TimeoutError):
            return None  # opening the rank by itself reports the error
