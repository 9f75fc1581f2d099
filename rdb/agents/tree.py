"""A tree of agents: a question to all goes down the tree, and one combined answer comes back.

The root talks to at most FANOUT agents, and so does each agent: 32, with 32 below each, make 1000.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rdb.errors import RdbError
from rdb.wire.channel import Closed, Message, connect
from rdb.wire.identity import Identity
from rdb.wire.peer import Answer, Handler, Peer

FANOUT = 32


@dataclass(frozen=True, slots=True)
class Address:
    """An agent: its host's name, and the address where it listens."""

    name: str
    host: str
    port: int


def branches(below: Sequence[Address], fanout: int = FANOUT) -> list[list[Address]]:
    """Splits BELOW into at most FANOUT parts of nearly equal size; the first of a part leads it."""
    count = min(fanout, len(below))
    return [list(below[part::count]) for part in range(count)]


class Tree:
    """The agents below a node; the root and each agent have one."""

    def __init__(self, identity: Identity, fanout: int = FANOUT) -> None:
        self._identity = identity
        self._fanout = fanout
        self._peers: list[tuple[Peer, list[str]]] = []
        self.failed: dict[str, str] = {}
        """Agents that could not be reached, and why."""

    @property
    def names(self) -> list[str]:
        return [name for _, names in self._peers for name in names]

    async def adopt(self, below: Sequence[Address]) -> None:
        """Connects to the agents of the next level, which connect to theirs."""
        await asyncio.gather(*map(self._adopt, branches(below, self._fanout)))

    async def _adopt(self, branch: list[Address]) -> None:
        first, *rest = branch
        try:
            peer = Peer(await connect(first.host, first.port, self._identity))
        except RdbError as error:
            self.failed[first.name] = error.message
            if rest:  # the agents below the lost one are adopted directly
                await self.adopt(rest)
            return
        told = [[one.name, one.host, one.port] for one in rest]
        try:
            answer, _ = await peer.ask({"op": "adopt", "below": told, "fanout": self._fanout})
        except RdbError as error:
            await peer.close()
            self.failed.update(dict.fromkeys((one.name for one in branch), error.message))
            return
        failed = answer["failed"]
        self.failed.update(failed)
        self._peers.append((peer, [one.name for one in branch if one.name not in failed]))

    async def all(self, message: Message) -> dict[str, Message]:
        """Name of each agent below -> its answer, or `{"error": reason}`."""
        found: dict[str, Message] = {}

        async def ask(peer: Peer, names: list[str]) -> None:
            try:
                answer, _ = await peer.ask({"op": "all", "ask": message})
                found.update(answer["answers"])
            except RdbError as error:
                found.update({name: {"error": f"{name}: {error.message}"} for name in names})

        await asyncio.gather(*(ask(peer, names) for peer, names in self._peers))
        return found

    async def one(self, name: str, message: Message, data: bytes = b"") -> Answer:
        """The answer of the agent NAME.  Closed: there is no such agent."""
        for peer, names in self._peers:
            if name in names:
                if name == names[0]:
                    return await peer.ask(message, data)
                return await peer.ask({"op": "one", "to": name, "ask": message}, data)
        raise Closed(f"no agent on {name}: {self.failed.get(name, 'none was started')}")

    async def close(self) -> None:
        await asyncio.gather(*(peer.close() for peer, _ in self._peers))
        self._peers.clear()


def node(name: str, identity: Identity, local: Handler) -> tuple[Handler, Tree]:
    """The handler of the agent NAME, and its tree.

    The handler passes questions down the tree, and gives LOCAL those about this host.
    """
    tree = Tree(identity)

    async def handle(message: Message, data: bytes) -> Answer:
        operation = message["op"]
        if operation == "adopt":
            tree._fanout = min(max(int(message["fanout"]), 1), FANOUT)
            await tree.adopt([Address(*one) for one in message["below"]])
            return {"failed": tree.failed}, b""
        if operation == "all":
            own, below = await asyncio.gather(_own(message["ask"]), tree.all(message["ask"]))
            return {"answers": {name: own, **below}}, b""
        if operation == "one":
            return await tree.one(str(message["to"]), message["ask"], data)
        return await local(message, data)

    async def _own(message: Message) -> Message:
        try:
            return (await local(message, b""))[0]
        except RdbError as error:
            return {"error": f"{name}: {error.message}", "hint": error.hint}
        except OSError as error:
            return {"error": f"{name}: {error.filename or ''}: {error.strerror}"}

    return handle, tree
