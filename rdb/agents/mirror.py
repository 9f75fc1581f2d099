"""Copies the files by which ranks tell each other things, while a job runs on hosts without a
shared disk.

This process watches its own directory of the job, the agents watch theirs. A new file in one
directory is written to all others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from rdb.agents.published import news, packed, put, unpacked
from rdb.agents.starting import Agents
from rdb.errors import RdbError

_HERE = ""  # stands for this process's own directory instead of a host


class Mirror:
    """Keeps the job's directory here and those on HOSTS alike."""

    def __init__(self, agents: Agents, hosts: Sequence[str], job: Path) -> None:
        self._agents, self._job = agents, job
        self._known: dict[str, set[str]] = {place: set() for place in (_HERE, *hosts)}

    async def run(self) -> None:
        """Runs until cancelled; stops watching a host that is gone."""
        await asyncio.gather(*map(self._watch, self._known))

    async def _watch(self, place: str) -> None:
        try:
            while True:
                found = await self._news(place)
                self._known[place].update(found)
                for name, data in found.items():
                    await self._tell(name, data)
        except (RdbError, OSError):
            # mpirun notices the lost host, too, and ends the job; where the disk here is full, the
            # ranks that wait for a file give up
            return

    async def _news(self, place: str) -> dict[str, bytes]:
        known = self._known[place]
        if place == _HERE:
            return await news(self._job, known)
        return unpacked(await self._agents.one(place, {"op": "published", "known": sorted(known)}))

    async def _tell(self, name: str, data: bytes) -> None:
        others = [place for place, known in self._known.items() if name not in known]
        for place in others:
            self._known[place].add(name)
        await asyncio.gather(*(self._put(place, name, data) for place in others))

    async def _put(self, place: str, name: str, data: bytes) -> None:
        if place == _HERE:
            put(self._job, name, data)
            return
        message, _ = packed({name: data})
        try:
            await self._agents.one(place, {"op": "publish", **message}, data)
        except RdbError:  # the watcher of PLACE has noticed it
            return
