"""While a job runs on hosts that share no disk: what its ranks tell each other reaches all of them.

Each directory of the job is looked at, this host's by us and the others by their agents; what is
new in one is put into the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from rdb.agents.published import news, packed, put, unpacked
from rdb.agents.starting import Agents
from rdb.errors import RdbError

_HERE = ""  # instead of a host: the directory that we see ourselves


class Mirror:
    """Of the job's directory here and those on HOSTS."""

    def __init__(self, agents: Agents, hosts: Sequence[str], job: Path) -> None:
        self._agents, self._job = agents, job
        self._known: dict[str, set[str]] = {place: set() for place in (_HERE, *hosts)}

    async def run(self) -> None:
        """Until it is cancelled; a host that is gone is not looked at any more."""
        await asyncio.gather(*map(self._watch, self._known))

    async def _watch(self, place: str) -> None:
        try:
            while True:
                found = await self._news(place)
                self._known[place].update(found)
                for name, data in found.items():
                    await self._tell(name, data)
        except RdbError:  # mpirun notices it too, and ends the job
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
        except RdbError:  # its own task has noticed
            return
