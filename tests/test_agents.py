"""Agents: who may ask, and a tree of many in one process, each with ranks that are only said."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rdb.agents.tree import Address, Tree, branches, node
from rdb.cli import far_ranks
from rdb.errors import NotYours, RdbError
from rdb.recording import Job
from rdb.wire.channel import Channel, Closed, Message, Refused, accept, connect
from rdb.wire.peer import Answer, Peer, serve
from rdb.wire.secret import job_secret

SECRET = secrets.token_bytes(32)
DEADLINE_S = 120


def within(action: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(action, DEADLINE_S))


@contextlib.asynccontextmanager
async def listening(
    welcome: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
) -> AsyncIterator[int]:
    server = await asyncio.start_server(welcome, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


class Nodes:
    """Agents, each with RANKS ranks."""

    def __init__(self, count: int, ranks: int) -> None:
        self.count, self.ranks = count, ranks
        self.addresses: list[Address] = []
        self.asked = 0
        self.servers: list[asyncio.Server] = []
        self.trees: list[Tree] = []
        self.tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Nodes:
        for number in range(self.count):
            await self.start(f"node{number}", number * self.ranks)
        return self

    async def start(self, name: str, first: int) -> None:
        async def local(message: Message, data: bytes) -> Answer:
            if message["op"] == "fail":
                raise RdbError(f"{name} cannot", "ask another")
            self.asked += self.ranks
            return {"ranks": list(range(first, first + self.ranks))}, data[::-1]

        handle, tree = node(name, SECRET, local)
        self.trees.append(tree)

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            with contextlib.suppress(Refused, Closed):
                await serve(await accept(reader, writer, SECRET), handle)

        server = await asyncio.start_server(welcome, "127.0.0.1", 0)
        self.servers.append(server)
        port = server.sockets[0].getsockname()[1]
        self.addresses.append(Address(name, "127.0.0.1", port))

    async def __aexit__(self, *error: object) -> None:
        for server in self.servers:
            server.close()
        for tree in self.trees:
            await tree.close()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def test_a_thousand_ranks_are_reached_through_the_tree() -> None:
    """All of them answer, in under a second of one processor; who asks speaks to a few agents."""

    async def scene() -> None:
        async with Nodes(125, 8) as nodes:
            tree = Tree(SECRET, fanout=5)
            await tree.adopt(nodes.addresses)
            assert not tree.failed and len(tree._peers) == 5
            times = []
            for _ in range(3):
                nodes.asked = 0
                begun = time.process_time()
                answers = await tree.all({"op": "checkpoint"})
                times.append(time.process_time() - begun)
                assert nodes.asked == 1000
                ranks = [rank for one in answers.values() for rank in one["ranks"]]
                assert sorted(ranks) == list(range(1000))
            assert min(times) < 1.0
            await tree.close()

    within(scene())


def test_info_lists_the_ranks_of_hosts_that_share_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are here as they are, the others as their hosts say, and who does not answer."""
    there = {"process": "1", "rank": 1, "state": "exited 0", "event": 9, "pid": 7, "host": "two"}
    seen = {"process": "0", "rank": 0, "state": "running", "event": 5, "pid": 6, "host": "one"}
    elsewhere = SimpleNamespace(apart=["two"], processes=lambda: [there, seen])

    @contextlib.contextmanager
    def reached(job: object, hosts: object) -> Iterator[object]:
        yield elsewhere

    monkeypatch.setattr(far_ranks, "reached", reached)
    job = SimpleNamespace(meta={"nranks": 3, "hosts": ["one", "two"]}, packed=False)
    here = {"process": "0", "rank": 0, "state": "open on one", "programs": [{}]}
    rows = [here]
    far_ranks.look_elsewhere(cast(Job, job), rows, None)
    assert [(row["process"], row["state"]) for row in rows] == [
        ("0", "running"),
        ("1", "exited 0, not brought here"),
        ("2", "not known here"),
    ]
    assert (rows[1]["events"], rows[1]["host"]) == (10, "two")


def test_one_far_down_answers_with_its_bytes() -> None:
    async def scene() -> None:
        async with Nodes(20, 1) as nodes:
            tree = Tree(SECRET, fanout=2)
            await tree.adopt(nodes.addresses)
            for name in ("node0", "node19"):
                answer, data = await tree.one(name, {"op": "read"}, b"abc" * 1000)
                assert (answer["ranks"], data) == ([int(name[4:])], b"cba" * 1000)
            with pytest.raises(RdbError, match="node19 cannot"):
                await tree.one("node19", {"op": "fail"})
            await tree.close()

    within(scene())


def test_agents_that_are_not_there_do_not_hide_those_below() -> None:
    async def scene() -> None:
        async with Nodes(12, 1) as nodes:
            for gone in (0, 5):
                nodes.servers[gone].close()
            tree = Tree(SECRET, fanout=3)
            await tree.adopt(nodes.addresses)
            assert set(tree.failed) == {"node0", "node5"}
            answers = await tree.all({"op": "states"})
            assert set(answers) == {f"node{n}" for n in range(12)} - {"node0", "node5"}
            await tree.close()

    within(scene())


def test_an_agent_that_goes_is_an_error_for_its_branch_alone() -> None:
    async def scene() -> None:
        async with Nodes(9, 1) as nodes:
            tree = Tree(SECRET, fanout=3)
            await tree.adopt(nodes.addresses)
            lost = [one.name for one in branches(nodes.addresses, 3)[1]]
            peer = next(peer for peer, names in tree._peers if names == lost)
            await peer.close()
            answers = await tree.all({"op": "states"})
            assert {name for name, one in answers.items() if "error" in one} == set(lost)
            assert len(answers) == 9
            await tree.close()

    within(scene())


def test_who_does_not_know_the_secret_is_refused() -> None:
    async def scene() -> None:
        async with Nodes(1, 1) as nodes:
            with pytest.raises(Refused):
                await connect("127.0.0.1", nodes.addresses[0].port, secrets.token_bytes(32))
            assert nodes.asked == 0

    within(scene())


def test_an_agent_that_does_not_know_it_is_refused_too() -> None:
    async def scene() -> None:
        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(RdbError):
                await accept(reader, writer, secrets.token_bytes(32))

        async with listening(welcome) as port:
            with pytest.raises(Refused):
                await connect("127.0.0.1", port, SECRET)

    within(scene())


def test_a_handshake_passed_on_by_another_is_refused() -> None:
    """Both know the secret, but they see other addresses than each other's."""

    async def scene() -> None:
        async with Nodes(1, 1) as nodes:

            async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                there = await asyncio.open_connection("127.0.0.1", nodes.addresses[0].port)
                await asyncio.gather(_pump(reader, there[1]), _pump(there[0], writer))

            async with listening(between) as port:
                with pytest.raises(Refused):
                    await connect("127.0.0.1", port, SECRET)
            assert nodes.asked == 0

    within(scene())


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(4096):
        writer.write(piece)
    writer.close()


def test_a_message_changed_on_the_way_is_refused() -> None:
    async def scene() -> None:
        heard: asyncio.Future[RdbError] = asyncio.get_running_loop().create_future()

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            channel = await accept(reader, writer, SECRET)
            try:
                await channel.receive()
            except RdbError as error:
                heard.set_result(error)

        async with listening(welcome) as port:
            channel = await connect("127.0.0.1", port, SECRET)
            whole = channel._writer.writelines

            def changed(parts: Any) -> None:
                head, text, data, mac = parts
                whole((head, text.replace(b"pause", b"again"), data, mac))

            channel._writer.writelines = changed  # type: ignore[method-assign]
            await channel.send({"op": "pause"})
            assert isinstance(await heard, Refused)
            channel.close()

    within(scene())


def test_something_else_on_that_port() -> None:
    async def scene() -> None:
        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n" * 4)
            writer.close()

        async with listening(welcome) as port:
            with pytest.raises(Refused, match="no agent of rdb's"):
                await connect("127.0.0.1", port, SECRET)

    within(scene())


def test_what_waits_when_the_agent_goes() -> None:
    async def scene() -> None:
        channels: list[Channel] = []

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            channels.append(await accept(reader, writer, SECRET))
            await channels[0].receive()
            channels[0].close()

        async with listening(welcome) as port:
            peer = Peer(await connect("127.0.0.1", port, SECRET))
            with pytest.raises(Closed):
                await peer.ask({"op": "ranks"})
            await peer.close()

    within(scene())


def test_the_secret_is_its_owners_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    secret = job_secret(str(tmp_path))
    assert len(secret) == 32 and job_secret(str(tmp_path)) == secret
    path = tmp_path / "agents.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["agents.key"]
    path.chmod(0o640)
    with pytest.raises(NotYours, match="its owner's alone"):
        job_secret(str(tmp_path))
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(NotYours, match="is not a key"):
        job_secret(str(tmp_path))


def test_another_jobs_secret_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        jobs = [tmp_path / name for name in ("this", "that")]
        for job in jobs:
            job.mkdir(mode=0o700)
        this, that = (job_secret(str(job)) for job in jobs)

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(RdbError):
                await accept(reader, writer, this)

        async with listening(welcome) as port:
            with pytest.raises(Refused):
                await connect("127.0.0.1", port, that)
            (await connect("127.0.0.1", port, this)).close()

    within(scene())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's files")
def test_another_users_job_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(NotYours, match="belongs to"):
        job_secret(str(tmp_path))
    assert not (tmp_path / "agents.key").exists()


def test_branches_are_of_nearly_the_same_size() -> None:
    below = [Address(f"node{number}", "127.0.0.1", number) for number in range(1023)]
    parts = branches(below, 32)
    assert sorted(one.port for part in parts for one in part) == list(range(1023))
    assert {len(part) for part in parts} == {31, 32}
    assert branches([], 32) == []
