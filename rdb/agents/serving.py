"""`rdb agent`: one host's agent.  It runs until its standard input ends."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from rdb.agents.operations import Operations, known_job
from rdb.agents.tree import node
from rdb.errors import RdbError, Usage, VersionMismatch
from rdb.wire.channel import VERSION, Channel, Message, listen, own_address
from rdb.wire.identity import Identity, job_identity
from rdb.wire.munge import opened
from rdb.wire.peer import serve


def agent_command(arguments: object) -> int:
    """Reads one line that says which job, prints one that says where it listens."""
    return asyncio.run(_run())


async def _run() -> int:
    told = _told(sys.stdin.buffer.readline())
    job = known_job(str(told["job"]))
    identity = _identity(told, job)
    name = os.uname().nodename
    operations = Operations(job, identity)
    handle, tree = node(name, identity, operations.answer)
    tasks: set[asyncio.Task[None]] = set()

    async def welcome(channel: Channel) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(channel, handle)
        # somebody changed bytes on the way; others may still use the agent
        except RdbError as error:
            print(f"rdb: agent on {name}: {error.message}", file=sys.stderr)
        finally:
            tasks.discard(task)

    listens, address = _addresses(told)
    server, port = await listen(listens, identity, welcome)
    print(json.dumps({"name": name, "host": address, "port": port}), flush=True)
    try:
        await _until_left()
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await tree.close()
        operations.close()
    return 0


def _identity(told: Message, job: str) -> Identity:
    """From the first line of input (plain, or sealed by munge), else from the job's directory."""
    if "identity" in told:
        return Identity(told["identity"].encode())
    return Identity(opened(told["munge"])) if "munge" in told else job_identity(job)


def _told(line: bytes) -> Message:
    try:
        told = json.loads(line)
        version = told["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise Usage("agent: for rdb itself: rdb attach, checkpoint and restart start it") from error
    if version != VERSION:
        raise VersionMismatch(f"agent protocol v{version}, this rdb speaks v{VERSION}")
    return dict(told)


def _addresses(told: Message) -> tuple[str, str]:
    """Where to listen, and the address at which others reach this host.

    That is the ssh connection's, or the host name's.  srun(1) exports the environment of its
    caller, whose ssh connection may be another host's: only ssh sends the identity.
    """
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if "identity" in told and len(connection) == 4:
        return connection[2], connection[2]
    return own_address()


async def _until_left() -> None:
    """Waits for the end of standard input; nothing is read from it."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        continue
