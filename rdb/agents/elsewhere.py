"""A job's ranks on other hosts, for callers without asyncio.  A command makes one Elsewhere.

The agents' event loop runs in a thread of its own until `close`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from rdb.agents.fetching import apart, fetch
from rdb.agents.starting import Agents
from rdb.errors import RdbError
from rdb.recording import Job
from rdb.recording.state import ProcessState
from rdb.undoing import on_failure
from rdb.wire.channel import Message

T = TypeVar("T")


class Elsewhere:
    """The agents on HOSTS; a context manager."""

    def __init__(self, job: Job, hosts: Sequence[str]) -> None:
        self.job = job
        allocation = job.meta.get("slurm_job")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agents", daemon=True)
        self._thread.start()
        self._agents = Agents(str(job.path), hosts, str(allocation) if allocation else None)
        self.apart: list[str] = []
        """Hosts that do not see the job's directory."""
        with on_failure(self.close):
            self.call(self._agents.__aenter__())
            self.apart = self.call(apart(self._agents))

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
        going = asyncio.run_coroutine_threadsafe(action, self._loop)
        try:
            return going.result()
        finally:
            going.cancel()  # at Ctrl-C

    @contextmanager
    def meanwhile(self, action: Coroutine[Any, Any, None]) -> Iterator[None]:
        """Runs ACTION in the background; cancels it when the context is left.

        An error that ended ACTION earlier is raised on leaving.
        """
        going = asyncio.run_coroutine_threadsafe(action, self._loop)
        try:
            yield
        finally:
            if not going.cancel():
                going.result()

    def all(self, message: Message) -> dict[str, Message]:
        return self.call(self._agents.all(message))

    def processes(self) -> list[Message]:
        """The processes that each answering host reports, with the host's name added."""
        answers = self.all({"op": "ranks"})
        return [
            {**one, "host": host}
            for host, answer in answers.items()
            for one in answer.get("ranks", ())
        ]

    def states(self) -> dict[str, ProcessState]:
        """Process name -> its state, such as `running`; only processes of hosts that answer."""
        return {str(one["process"]): ProcessState(one["state"]) for one in self.processes()}

    def fetch(self, ranks: Collection[int] | None = None) -> int:
        """Copies the recordings of RANKS (default: all) from hosts that do not share this file
        system.

        Returns the number of files copied.
        """
        return self.call(fetch(self._agents, self.apart, ranks))

    def signal(self, operation: str, ranks: Collection[int]) -> dict[int, str | RdbError]:
        """Sends OPERATION, `pause` or `resume`; returns each rank's new state or error."""
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
