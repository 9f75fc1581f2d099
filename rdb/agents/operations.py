"""What an agent of this host does for holders of the job's certificate."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Event

from rdb.agents.parts import Parts
from rdb.agents.published import news, packed, put, unpacked
from rdb.coordinate.pausing import Pausing
from rdb.coordinate.request import checkpoint_all
from rdb.errors import Usage
from rdb.recording import Job, open_job
from rdb.wire.channel import Message
from rdb.wire.identity import Identity
from rdb.wire.peer import Answer


class Operations:
    """The operations of one job, JOB, the only one that its certificate is valid for."""

    def __init__(self, job: str, identity: Identity) -> None:
        self._path = job
        self._parts = Parts(job, identity)
        self._live: Pausing | None = None
        self._closed = Event()

    async def answer(self, message: Message, data: bytes) -> Answer:
        operation = message["op"]
        if operation == "ranks":
            return {"ranks": await asyncio.to_thread(self._ranks)}, b""
        if operation == "checkpoint":
            job, timeout_s = self._job(), int(message["timeout_s"])
            rows = await asyncio.to_thread(checkpoint_all, job, timeout_s, self._closed)
            return {"taken": rows}, b""
        if operation in ("pause", "resume"):
            return {"states": await asyncio.to_thread(self._signal, operation, message)}, b""
        if operation == "published":
            return packed(await news(Path(self._path), message["known"]))
        if operation == "publish":
            for name, content in unpacked((message, data)).items():
                put(Path(self._path), name, content)
            return {}, b""
        return await asyncio.to_thread(self._parts.answer, message, data)

    def close(self) -> None:
        """Resumes the ranks that were paused, and waits for no checkpoint: nobody is left."""
        self._closed.set()
        if self._live is not None:
            self._live.close()

    def _job(self) -> Job:
        return open_job(self._path)

    def _ranks(self) -> list[Message]:
        """The processes of the job that run on this host."""
        if not os.path.exists(os.path.join(self._path, "job.json")):
            return []
        found = []
        for process in self._job().processes():
            if process.of_this_host:
                last = process.programs[-1].glance()
                found.append(
                    {
                        "process": process.name,
                        "rank": process.main.rank,
                        "state": last.state,
                        "event": last.last_event,
                        "pid": last.meta.get("pid"),
                        "argv": last.meta.get("argv", []),
                        "checkpoints": len(last.images),
                    }
                )
        return found

    def _signal(self, operation: str, message: Message) -> dict[str, str]:
        job = self._job()
        self._live = self._live or Pausing(job)
        ranks = [int(rank) for rank in message["ranks"]]
        there = [rank for rank in ranks if (Path(self._path) / f"rank-{rank}").is_dir()]
        here = [rank for rank in there if job.process(rank).of_this_host]
        done = self._live.pause(here) if operation == "pause" else self._live.resume(here)
        return {
            str(rank): one if isinstance(one, str) else f"error: {one.message}"
            for rank, one in done.items()
        }


def known_job(path: str) -> str:
    """PATH, if it is absolute and normal as a job's directory must be.  Usage: it is not."""
    if not os.path.isabs(path) or os.path.normpath(path) != path:
        raise Usage(f"agent: {path!r} cannot be a job's directory: expected a normal absolute path")
    return path
