"""A job's ranks on other hosts, for commands that know nothing of asyncio: one per command.

The agents live in a thread of their own until `close`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rdb.agents.channel import Message
from rdb.agents.fetching import apart, fetch
from rdb.agents.starting import Agents
from rdb.errors import DamagedRecording, RdbError
from rdb.launch.hosts import read_hosts
from rdb.recording import Job

T = TypeVar("T")


def hosts_of(job: Job, hosts_file: str | None = None) -> list[str]:
    """The hosts that a job's ranks run on, or that have parts of it; none for one that is here."""
    if job.packed and hosts_file is None:
        return []
    here = os.uname().nodename
    unfinished = []
    for rank in job.ranks:
        last = job.process(rank).programs[-1].glance()
        try:
            host = last.meta.get("host")
        except DamagedRecording:  # who reads its log says so
            continue
        if host is not None and last.end is None:
            unfinished.append(str(host))
    named = unfinished
    if hosts_file is not None:
        named = [one.name for one in read_hosts(hosts_file)] + unfinished
    elif unfinished or len(job.ranks) < (job.meta.get("nranks") or 1):  # else all is here
        named = [str(one) for one in job.meta.get("hosts", ())] + unfinished
    return [name for name in dict.fromkeys(named) if name != here]


class Elsewhere:
    """Agents on HOSTS; a context manager."""

    def __init__(self, job: Job, hosts: Sequence[str]) -> None:
        self.job = job
        allocation = job.meta.get("slurm_job")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agents", daemon=True)
        self._thread.start()
        self._agents = Agents(str(job.path), hosts, str(allocation) if allocation else None)
        self.apart: list[str] = []
        """Hosts that do not see the job's directory."""
        try:
            self.call(self._agents.__aenter__())
            self.apart = self.call(apart(self._agents))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Elsewhere:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def agents(self) -> Agents:
        return self._agents

    @property
    def failed(self) -> dict[str, str]:
        return self._agents.failed

    def call(self, action: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(action, self._loop).result()

    @contextmanager
    def meanwhile(self, action: Coroutine[Any, Any, None]) -> Iterator[None]:
        """It goes on until this is left."""
        going = asyncio.run_coroutine_threadsafe(action, self._loop)
        try:
            yield
        finally:
            if not going.cancel():
                going.result()

    def all(self, message: Message) -> dict[str, Message]:
        return self.call(self._agents.all(message))

    def processes(self) -> list[Message]:
        """What hosts that answer say of theirs, each with its host."""
        answers = self.all({"op": "ranks"})
        return [
            {**one, "host": host}
            for host, answer in answers.items()
            for one in answer.get("ranks", ())
        ]

    def states(self) -> dict[str, str]:
        """Process -> `running`, ..., of those whose hosts answer."""
        return {str(one["process"]): str(one["state"]) for one in self.processes()}

    def fetch(self, ranks: Collection[int] | None = None) -> int:
        """Brings what hosts have that share no file system with this one."""
        return self.call(fetch(self._agents, self.apart, ranks))

    def signal(self, operation: str, ranks: Collection[int]) -> dict[int, str | RdbError]:
        """`pause` or `resume`; what became of each rank."""
        found: dict[int, str | RdbError] = {}
        for host, answer in self.all({"op": operation, "ranks": sorted(ranks)}).items():
            for rank, state in answer.get("states", {}).items():
                failed = str(state).startswith("error: ")
                found[int(rank)] = RdbError(f"{host}: {state}") if failed else str(state)
        return found

    def close(self) -> None:
        if self._loop.is_closed():
            return
        self.call(self._agents.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
