"""`rdb agent`: one host's agent, as long as who started it holds its standard input."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys

from rdb.agents.operations import Operations, known_job
from rdb.agents.tree import node
from rdb.errors import RdbError, Usage, VersionMismatch
from rdb.wire.channel import VERSION, Closed, Message, accept
from rdb.wire.munge import opened
from rdb.wire.peer import serve
from rdb.wire.secret import KEY_BYTES, job_secret


def agent_command(arguments: object) -> int:
    """Reads one line that says which job, prints one that says where it listens."""
    return asyncio.run(_run())


async def _run() -> int:
    told = _told(sys.stdin.buffer.readline())
    job = known_job(str(told["job"]))
    secret = _secret(told, job)
    if len(secret) != KEY_BYTES:
        raise Usage("agent: that is no job's secret")
    name = os.uname().nodename
    operations = Operations(job, secret)
    handle, tree = node(name, secret, operations.answer)
    tasks: set[asyncio.Task[None]] = set()

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(await accept(reader, writer, secret), handle)
        except RdbError as error:  # a stranger: the agent is there for others
            print(f"rdb: agent on {name}: {error.message}", file=sys.stderr)
        finally:
            tasks.discard(task)

    address = _address(told)
    server = await asyncio.start_server(welcome, address, 0)
    port = server.sockets[0].getsockname()[1]
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


def _secret(told: Message, job: str) -> bytes:
    """As who started it said, or as the job's directory has it."""
    if "secret" in told:
        return bytes.fromhex(told["secret"])
    return opened(told["munge"]) if "munge" in told else job_secret(job)


def _told(line: bytes) -> Message:
    try:
        told = json.loads(line)
        version = told["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise Usage("agent: started by rdb attach, checkpoint, restart; not by hand") from error
    if version != VERSION:
        raise VersionMismatch(f"agent protocol v{version}, this rdb speaks v{VERSION}")
    return dict(told)


def _address(told: Message) -> str:
    """Where others reach this host: as who came by ssh did, or by its name."""
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if len(connection) == 4:
        return connection[2]
    try:
        return socket.gethostbyname(os.uname().nodename)
    except OSError as error:
        raise Closed(f"{os.uname().nodename} has no address: {error.strerror}") from error


async def _until_left() -> None:
    """Nothing more is said on standard input; its end is ours."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        continue
