"""What an agent does for those who have proved that they may ask: of one job, on this host."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from rdb.agents.here import ranks_here
from rdb.agents.parts import Parts
from rdb.agents.published import news, packed, put, unpacked
from rdb.coordinate.pausing import Pausing
from rdb.coordinate.request import request, running, taken
from rdb.errors import RdbError, Usage
from rdb.recording import Job, RankRecording, open_job
from rdb.wire.channel import Message
from rdb.wire.peer import Answer

_TIMEOUT_MAX_S = 600


class Operations:
    """Those of the job at this path, which is the only one that its secret opens."""

    def __init__(self, job: str, secret: bytes) -> None:
        self._path = job
        self._parts = Parts(job, secret)
        self._live: Pausing | None = None

    async def answer(self, message: Message, data: bytes) -> Answer:
        operation = message["op"]
        if operation == "ranks":
            return {"ranks": await asyncio.to_thread(self._ranks)}, b""
        if operation == "checkpoint":
            timeout_s = min(int(message["timeout_s"]), _TIMEOUT_MAX_S)
            return {"taken": await asyncio.to_thread(self._checkpoint, timeout_s)}, b""
        if operation in ("pause", "resume"):
            return {"states": await asyncio.to_thread(self._signal, operation, message)}, b""
        if operation == "published":
            return packed(await news(Path(self._path), message["known"]))
        if operation == "publish":
            for name, content in unpacked((message, data)).items():
                put(Path(self._path), name, content)
            return {}, b""
        if operation == "alone":
            return {"ranks": [one.as_json() for one in ranks_here()]}, b""
        return await asyncio.to_thread(self._parts.answer, message, data)

    def close(self) -> None:
        """Who paused ranks and is gone does not leave them so."""
        if self._live is not None:
            self._live.close()

    def _job(self) -> Job:
        return open_job(self._path)

    def _ranks(self) -> list[Message]:
        """Processes of the job that are of this host."""
        if not os.path.exists(os.path.join(self._path, "job.json")):
            return []
        found = []
        for process in self._job().processes():
            last = process.programs[-1].glance()
            if last.meta.get("host") == os.uname().nodename:
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

    def _checkpoint(self, timeout_s: int) -> list[Message]:
        job = self._job()
        asked: list[tuple[RankRecording, int]] = []
        answers: list[Message] = []
        for recording in running(job):
            try:
                asked.append((recording, request(recording)))
            except RdbError as error:
                answers.append({"process": recording.name, "error": error.message})
        until_s = time.monotonic() + timeout_s
        for recording, before in asked:
            image = taken(recording, before, until_s)
            answers.append(
                {"process": recording.name, "number": image.number, "event": image.event}
                if image is not None
                else {"process": recording.name, "error": f"no event in {timeout_s} s"}
            )
        return answers

    def _signal(self, operation: str, message: Message) -> dict[str, str]:
        job = self._job()
        self._live = self._live or Pausing(job)
        ranks = [int(rank) for rank in message["ranks"]]
        there = [rank for rank in ranks if (Path(self._path) / f"rank-{rank}").is_dir()]
        here = [
            rank
            for rank in there
            if job.process(rank).programs[-1].glance().meta.get("host") == os.uname().nodename
        ]
        done = self._live.pause(here) if operation == "pause" else self._live.resume(here)
        return {
            str(rank): one if isinstance(one, str) else f"error: {one.message}"
            for rank, one in done.items()
        }


def known_job(path: str) -> str:
    """A job's directory as an agent may be told it."""
    if not os.path.isabs(path) or os.path.normpath(path) != path:
        raise Usage(f"agent: {path!r} is no job's directory")
    return path
