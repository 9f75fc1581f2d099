"""Agents: who may ask, and a tree of many in one process, each with ranks that are only said."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from rdb.agents import serving
from rdb.agents.fetching import apart
from rdb.agents.parts import Parts
from rdb.agents.tree import Address, Tree, branches, node
from rdb.checked import to_json
from rdb.cli import far_ranks
from rdb.errors import NotYours, RdbError
from rdb.recording import FORMAT, Job
from rdb.wire import channel as channel_module
from rdb.wire import munge
from rdb.wire.channel import VERSION, Channel, Closed, Message, Refused, connect, listen
from rdb.wire.identity import Identity, job_identity, new_identity
from rdb.wire.peer import Answer, Peer, serve

IDENTITY, ANOTHER = new_identity(), new_identity()
DEADLINE_S = 120


def within(action: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(action, DEADLINE_S))


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def agent(
    welcome: Callable[[Channel], Any], identity: Identity = IDENTITY
) -> AsyncIterator[int]:
    server, port = await listen("127.0.0.1", identity, welcome)
    try:
        yield port
    finally:
        server.close()


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

        handle, tree = node(name, IDENTITY, local)
        self.trees.append(tree)

        async def welcome(channel: Channel) -> None:
            task = asyncio.current_task()
            assert task is not None
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            await serve(channel, handle)

        server, port = await listen("127.0.0.1", IDENTITY, welcome)
        self.servers.append(server)
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
    """All of them answer; who asks speaks to a few agents."""

    async def scene() -> None:
        async with Nodes(125, 8) as nodes:
            tree = Tree(IDENTITY, fanout=5)
            await tree.adopt(nodes.addresses)
            assert not tree.failed and len(tree._peers) == 5
            for _ in range(3):
                nodes.asked = 0
                answers = await tree.all({"op": "checkpoint"})
                assert nodes.asked == 1000
                ranks = [rank for one in answers.values() for rank in one["ranks"]]
                assert sorted(ranks) == list(range(1000))
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
        ("1", "exited 0, on its host only"),
        ("2", "not known here"),
    ]
    assert (rows[1]["events"], rows[1]["host"]) == (10, "two")


def test_one_far_down_answers_with_its_bytes() -> None:
    async def scene() -> None:
        async with Nodes(20, 1) as nodes:
            tree = Tree(IDENTITY, fanout=2)
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
            tree = Tree(IDENTITY, fanout=3)
            await tree.adopt(nodes.addresses)
            assert set(tree.failed) == {"node0", "node5"}
            answers = await tree.all({"op": "states"})
            assert set(answers) == {f"node{n}" for n in range(12)} - {"node0", "node5"}
            await tree.close()

    within(scene())


def test_an_agent_that_goes_is_an_error_for_its_branch_alone() -> None:
    async def scene() -> None:
        async with Nodes(9, 1) as nodes:
            tree = Tree(IDENTITY, fanout=3)
            await tree.adopt(nodes.addresses)
            lost = [one.name for one in branches(nodes.addresses, 3)[1]]
            peer = next(peer for peer, names in tree._peers if names == lost)
            await peer.close()
            answers = await tree.all({"op": "states"})
            assert {name for name, one in answers.items() if "error" in one} == set(lost)
            assert len(answers) == 9
            await tree.close()

    within(scene())


def test_who_has_another_certificate_is_refused() -> None:
    async def scene() -> None:
        async with Nodes(1, 1) as nodes:
            with pytest.raises(Refused, match="another job's certificate"):
                await connect("127.0.0.1", nodes.addresses[0].port, ANOTHER)
            assert nodes.asked == 0

    within(scene())


class Half(Identity):
    """Trusts IDENTITY, as one that has heard its certificate, but has no key of it."""

    def __init__(self, own: Identity | None) -> None:
        super().__init__(own.pem if own else b"")

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = super()._context(protocol) if self.pem else ssl.SSLContext(protocol)
        context.check_hostname = False
        context.load_verify_locations(cadata=IDENTITY.pem.decode())
        return context


@pytest.mark.parametrize("own", [None, ANOTHER], ids=["none", "another"])
def test_a_stranger_who_trusts_the_agent_is_refused(own: Identity | None) -> None:
    async def scene() -> None:
        welcomed: list[Channel] = []

        async def welcome(channel: Channel) -> None:
            welcomed.append(channel)

        async with agent(welcome) as port:
            with pytest.raises(Refused, match="certificate"):
                await connect("127.0.0.1", port, Half(own))
            (await connect("127.0.0.1", port, IDENTITY)).close()
        assert len(welcomed) == 1

    within(scene())


@contextlib.asynccontextmanager
async def between(
    port: int, there: Callable[[bytes], bytes], back: Callable[[bytes], bytes]
) -> AsyncIterator[int]:
    """A stranger on the way to PORT: what it makes of each TLS record in either direction."""
    pumps: list[asyncio.Task[None]] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passed: Any) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                head = await reader.readexactly(5)  # RFC 8446, 5.1: type, version, length
                record = head + await reader.readexactly(int.from_bytes(head[3:]))
                writer.write(passed(record))
        writer.close()

    async def met(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward: Streams = await asyncio.open_connection("127.0.0.1", port)
        pumps.append(asyncio.create_task(pump(reader, onward[1], there)))
        pumps.append(asyncio.create_task(pump(onward[0], writer, back)))

    async with listening(met) as middle:
        yield middle
    for one in pumps:
        one.cancel()
    await asyncio.gather(*pumps, return_exceptions=True)


def as_it_is(record: bytes) -> bytes:
    return record


def changed(record: bytes) -> bytes:
    return record[:-1] + bytes([record[-1] ^ 1])


def twice(record: bytes) -> bytes:
    return record + record


def left_out(record: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("spoil", [changed, twice, left_out])
def test_a_message_that_is_not_as_it_was_sent_is_refused(spoil: Callable[[bytes], bytes]) -> None:
    """And never acted on; what came before it, unchanged through the same stranger, is."""

    async def scene() -> None:
        heard: list[Message] = []
        ended: asyncio.Future[RdbError] = asyncio.get_running_loop().create_future()
        meddle: list[Callable[[bytes], bytes]] = [as_it_is]

        async def welcome(channel: Channel) -> None:
            try:
                while True:
                    heard.append((await channel.receive())[0])
            except RdbError as error:
                ended.set_result(error)

        async with agent(welcome) as port:

            def there(record: bytes) -> bytes:
                passed = meddle[0](record)
                meddle[0] = as_it_is
                return passed

            async with between(port, there, as_it_is) as middle:
                channel = await connect("127.0.0.1", middle, IDENTITY)
                await channel.send({"op": "first"})
                while not heard:
                    await asyncio.sleep(0.01)
                meddle[0] = spoil
                await channel.send({"op": "spoiled"})
                await channel.send({"op": "last"})
                assert isinstance(await ended, Refused)
                once = ["first", "spoiled"][: len(heard)] if spoil is twice else ["first"]
                assert [one["op"] for one in heard] == once
                channel.close()

    within(scene())


def test_a_handshake_changed_on_the_way_is_refused() -> None:
    async def scene() -> None:
        welcomed: list[Channel] = []

        async def welcome(channel: Channel) -> None:
            welcomed.append(channel)

        async with agent(welcome) as port:
            for there, back in ((changed, as_it_is), (as_it_is, changed)):
                async with between(port, there, back) as middle:
                    with pytest.raises((Refused, Closed)):
                        await connect("127.0.0.1", middle, IDENTITY)
        assert not welcomed

    within(scene())


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "after TLS"])
def test_who_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tls: bool) -> None:
    monkeypatch.setattr(channel_module, "_HANDSHAKE_S", 0.5)

    async def silent() -> None:
        async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        context = IDENTITY.answers if tls else None
        server = await asyncio.start_server(says_nothing, "127.0.0.1", 0, ssl=context)
        with pytest.raises(Closed, match="no answer"):
            await connect("127.0.0.1", server.sockets[0].getsockname()[1], IDENTITY)
        server.close()

    async def asked_by_silence() -> None:
        async def welcome(channel: Channel) -> None:
            pytest.fail("a stranger is welcome")

        context = IDENTITY.asks if tls else None
        async with agent(welcome) as port:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=context, server_hostname="" if tls else None
            )
            assert VERSION.to_bytes(4) in await reader.read() or not tls
            writer.close()

    within(silent())
    within(asked_by_silence())


def test_something_else_on_that_port() -> None:
    async def scene() -> None:
        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n" * 4)
            writer.close()

        async with listening(welcome) as port:
            with pytest.raises(Refused, match="not an agent of rdb"):
                await connect("127.0.0.1", port, IDENTITY)

    within(scene())


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000, b"[]"])
def test_an_answer_that_is_no_object_ends_the_channel(text: bytes) -> None:
    async def scene() -> None:
        async def welcome(channel: Channel) -> None:
            await channel.receive()
            channel._writer.write(len(text).to_bytes(4, "big") + bytes(8) + text)

        async with agent(welcome) as port:
            peer = Peer(await connect("127.0.0.1", port, IDENTITY))
            for _ in range(2):
                with pytest.raises(Refused, match="the agent sent a message that is not"):
                    await peer.ask({})
            await peer.close()

    within(scene())


def test_a_munged_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("munge", "unmunge"):
        (tmp_path / name).write_text("#!/bin/sh\nexec sleep 1000\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(munge, "_TIMEOUT_S", 0.2)
    assert munge.sealed(b"key") is None
    with pytest.raises(NotYours, match="munged does not answer"):
        munge.opened("MUNGE:...")


def test_what_waits_when_the_agent_goes() -> None:
    async def scene() -> None:
        async def welcome(channel: Channel) -> None:
            await channel.receive()
            channel.close()

        async with agent(welcome) as port:
            peer = Peer(await connect("127.0.0.1", port, IDENTITY))
            with pytest.raises(Closed):
                await peer.ask({"op": "ranks"})
            await peer.close()

    within(scene())


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    identity = job_identity(str(tmp_path))
    assert job_identity(str(tmp_path)).pem == identity.pem
    path = tmp_path / "agents.pem"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["agents.pem"]
    path.chmod(0o640)
    with pytest.raises(NotYours, match="others may read it"):
        job_identity(str(tmp_path))
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(NotYours, match="is not a certificate"):
        job_identity(str(tmp_path))
    path.write_bytes(identity.pem[:300])
    with pytest.raises(NotYours, match="damaged"):
        _ = job_identity(str(tmp_path)).asks


def test_another_jobs_certificate_is_refused(tmp_path: Path) -> None:
    """`rdb checkpoint` of a job without a log says so in a line, and exits with 4."""

    async def scene() -> None:
        jobs = [tmp_path / name for name in ("this", "that")]
        for job in jobs:
            job.mkdir(mode=0o700)
        this = job_identity(str(jobs[0]))

        async def welcome(channel: Channel) -> None:
            await channel.receive()

        async with agent(welcome, this) as port:
            (await connect("127.0.0.1", port, this)).close()
            meta = {"format": FORMAT, "nranks": 2, "record": "off", "created_ns": 0}
            (jobs[1] / "job.json").write_text(to_json(meta))
            where = {"name": "127.0.0.1", "host": "127.0.0.1", "port": port}
            (jobs[1] / "relay.json").write_text(json.dumps(where))
            asked = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "rdb", "checkpoint", jobs[1]),
                stderr=asyncio.subprocess.PIPE,
            )
            _, said = await asked.communicate()
            line = f"rdb: 127.0.0.1:{port}: the agent has another job's certificate\n"
            assert (said.decode(), asked.returncode) == (line, 4)

    within(scene())


def test_the_key_is_seen_by_nobody(tmp_path: Path) -> None:
    """Neither as an argument nor in the environment, nor in what the agent says or traces."""
    job, trace = tmp_path / "job", tmp_path / "trace"
    job.mkdir(mode=0o700)
    identity = job_identity(str(job))
    told = {"version": VERSION, "job": str(job), "identity": identity.pem.decode()}
    environment = {**os.environ, "RDB_TRACE": "control", "RDB_TRACE_FILE": str(trace)}
    environment["SSH_CONNECTION"] = "127.0.0.1 1 127.0.0.1 2"
    with subprocess.Popen(
        [sys.executable, "-m", "rdb", "agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
        there = json.loads(process.stdout.readline())

        async def ask() -> None:
            tree = Tree(identity)
            await tree.adopt([Address("here", there["host"], there["port"])])
            assert not tree.failed
            await tree.all({"op": "ranks"})
            await tree.close()

        within(ask())
        proc = Path(f"/proc/{process.pid}")
        seen = (proc / "cmdline").read_bytes() + (proc / "environ").read_bytes()
        process.stdin.close()
        seen += process.stdout.read() + process.stderr.read()
    seen += trace.read_bytes()
    assert b"ranks" in seen
    assert not [line for line in identity.pem.splitlines()[1:-1] if line in seen]
    assert [str(one) for one in tmp_path.rglob("*") if one.is_file()] == [
        *(str(trace), str(job / "agents.pem"))
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's files")
def test_another_users_job_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(NotYours, match="belongs to"):
        job_identity(str(tmp_path))
    assert not (tmp_path / "agents.pem").exists()


def test_branches_are_of_nearly_the_same_size() -> None:
    below = [Address(f"node{number}", "127.0.0.1", number) for number in range(1023)]
    parts = branches(below, 32)
    assert sorted(one.port for part in parts for one in part) == list(range(1023))
    assert {len(part) for part in parts} == {31, 32}
    assert branches([], 32) == []


@pytest.mark.parametrize(
    ("of_name", "here", "listens", "announced"),
    [
        ("192.0.2.77", True, "192.0.2.77", "192.0.2.77"),
        ("192.0.2.77", False, "0.0.0.0", "node7"),
        ("127.0.1.1", True, "0.0.0.0", "node7"),
    ],
)
def test_an_agent_that_srun_has_started_listens_on_its_own_host(
    monkeypatch: pytest.MonkeyPatch, of_name: str, here: bool, listens: str, announced: str
) -> None:
    """srun(1) exports the environment of the login node, which the user has reached by ssh."""
    if here:  # any address can be bound
        monkeypatch.setattr("socket.socket", MagicMock())
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 5 192.0.2.9 22")
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="node7"))
    monkeypatch.setattr("socket.gethostbyname", lambda name: of_name)
    assert serving._addresses({"munge": "x"}) == (listens, announced)
    assert serving._addresses({"identity": "x"}) == ("192.0.2.9", "192.0.2.9")


def test_two_commands_at_once_see_that_a_host_shares_the_disk(tmp_path: Path) -> None:
    class Here:
        """An agent on this host; during the first question another command asks."""

        job = str(tmp_path)
        asked = 0

        async def all(self, message: Message) -> dict[str, Message]:
            self.asked += 1
            if self.asked == 1:
                assert await apart(cast(Any, self)) == []
            return {"here": Parts(self.job, IDENTITY).answer(message, b"")[0]}

    assert within(apart(cast(Any, Here()))) == []
    assert not list(tmp_path.iterdir())
