"""Agents on the hosts of a job, started by ssh, or by srun in the allocation of the job."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import TracebackType

from rdb.agents.tree import Address, Tree
from rdb.errors import RdbError, Unsupported
from rdb.launch.command import own_command
from rdb.undoing import on_failure_await
from rdb.wire.channel import VERSION, Message
from rdb.wire.hosts import by_srun, by_ssh
from rdb.wire.identity import job_identity
from rdb.wire.munge import sealed
from rdb.wire.peer import Answer

_START_S = 60.0
_STARTS_AT_ONCE = 64
_NAMES = 8  # most hosts that a message names


class Agents:
    """Agents on HOSTS, from `async with` to its end; `failed` maps a host without one to the
    reason.
    """

    def __init__(self, job: str, hosts: Sequence[str], allocation: str | None = None) -> None:
        self.job = job
        self.hosts = list(dict.fromkeys(hosts))
        self._allocation = allocation
        """Id of the Slurm job whose srun starts the agents; None: ssh starts them."""
        self._identity = job_identity(job)
        self._processes: list[asyncio.subprocess.Process] = []
        self.tree = Tree(self._identity)
        self.failed: dict[str, str] = {}

    async def __aenter__(self) -> Agents:
        async with on_failure_await(self.close):
            if self._allocation is None:
                there = await self._by_ssh()
            else:
                there = await self._by_srun(self._allocation)
            await self.tree.adopt(there)
        self.failed.update(self.tree.failed)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def all(self, message: Message) -> dict[str, Message]:
        """Host -> its answer; `{"error": reason}` for a host without an agent."""
        missing = {host: {"error": f"{host}: {why}"} for host, why in self.failed.items()}
        return {**missing, **await self.tree.all(message)}

    async def one(self, host: str, message: Message, data: bytes = b"") -> Answer:
        if host in self.failed:
            raise RdbError(f"{host}: {self.failed[host]}")
        return await self.tree.one(host, message, data)

    def need_all(self) -> None:
        """Raises Unsupported unless every host has an agent."""
        if self.failed:
            shown = "; ".join(f"{one}: {why}" for one, why in list(self.failed.items())[:_NAMES])
            several = len(self.hosts) > 1
            where = f"{len(self.failed)} of {len(self.hosts)} hosts: " if several else ""
            raise Unsupported(f"no agent on {where}{shown}")

    async def close(self) -> None:
        await self.tree.close()
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in self._processes:
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        self._processes.clear()

    async def _by_ssh(self) -> list[Address]:
        lines = {host: by_ssh(host, [*own_command(), "agent"]) for host in self.hosts}
        gate = asyncio.Semaphore(_STARTS_AT_ONCE)
        # the host need not see the job's directory
        told = {"identity": self._identity.pem.decode()}

        async def start(host: str) -> Address | None:
            async with gate:
                try:
                    said = await self._start(lines[host], told, 1)
                except RdbError as error:
                    self.failed[host] = error.message
                    return None
            return Address(host, said[0]["host"], said[0]["port"])

        found = await asyncio.gather(*map(start, self.hosts))
        return [one for one in found if one is not None]

    async def _by_srun(self, allocation: str) -> list[Address]:
        options = ["-w", ",".join(self.hosts), "--input=all"]
        line = by_srun(allocation, len(self.hosts), [*own_command(), "agent"], options)
        credential = await asyncio.to_thread(sealed, self._identity.pem)
        told = {"munge": credential} if credential else {}
        said = await self._start(line, told, len(self.hosts))
        return [Address(one["name"], one["host"], one["port"]) for one in said]

    async def _start(
        self, line: Sequence[str], more: Mapping[str, str], count: int
    ) -> list[Message]:
        """Starts COUNT agents by one command; returns the line that each prints about itself."""
        process = await asyncio.create_subprocess_exec(
            *line,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # the terminal's Ctrl-C must not end the agents
        )
        self._processes.append(process)
        assert process.stdin is not None and process.stdout is not None
        said: list[Message] = []
        try:
            process.stdin.write(
                json.dumps({"version": VERSION, "job": self.job, **more}).encode() + b"\n"
            )
            async with asyncio.timeout(_START_S):
                while len(said) < count:
                    text = await process.stdout.readline()
                    if not text:
                        raise RdbError(await _last_words(process))
                    if text.startswith(b"{"):  # a login shell may print something
                        said.append(json.loads(text))
        except TimeoutError as error:
            raise RdbError(f"the agent did not start in {_START_S:.0f} s") from error
        except (OSError, ValueError) as error:
            raise RdbError(f"{line[0]}: {error}") from error
        return said


async def _last_words(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    words = (await process.stderr.read()).decode(errors="replace").strip().splitlines()
    return words[-1] if words else "the agent ended at once, without a message"
