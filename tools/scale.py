"""Computes the tables of docs/scale.md: measured here, and what it comes to for many ranks.

`python3 tools/scale.py JOB...` with recorded MPI jobs of some thousand events: their logs are read
and a cut is made of them.  Nothing here was run with so many ranks: it is arithmetic.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rdb.agents.tree import FANOUT, Address, Tree, node
from rdb.live.cut.consistent import Traffic
from rdb.recording import Job, open_job
from rdb.wire.channel import Channel, Message, listen
from rdb.wire.identity import new_identity
from rdb.wire.peer import Answer, Handler, serve

RANKS = (64, 2_048, 32_768)
PER_NODE = 64  # ranks
LATENCY_S = 50e-6  # of a message between two nodes, TCP over Ethernet
IMAGE_BYTES = (100e6, 1e9)
BANDWIDTHS = (10e9, 100e9, 1e12)  # of the file system, bytes a second
MTBF_NODE_S = 5 * 365 * 86_400
AGENTS = 128


async def _fan_out() -> tuple[float, float]:
    """Processor seconds for an agent's part in one request, and for reading one rank's answer."""
    identity = new_identity()
    answers = [{"process": str(rank), "number": 7, "event": 1_234_567} for rank in range(PER_NODE)]
    servers, addresses, trees = [], [], []
    for number in range(AGENTS):

        async def local(message: Message, data: bytes) -> Answer:
            return {"taken": answers}, b""

        handle, tree = node(f"node{number}", identity, local)

        async def welcome(channel: Channel, handle: Handler = handle) -> None:
            await serve(channel, handle)

        server, port = await listen("127.0.0.1", identity, welcome)
        servers.append(server)
        trees.append(tree)
        addresses.append(Address(f"node{number}", "127.0.0.1", port))
    root = Tree(identity)
    await root.adopt(addresses)
    times = []
    for _ in range(5):
        begun = time.process_time()
        found = await root.all({"op": "checkpoint"})
        times.append(time.process_time() - begun)
        assert len(found) == AGENTS
    text = json.dumps({f"node{n}": {"taken": answers} for n in range(AGENTS)})
    begun = time.process_time()
    json.loads(text)
    parsing = (time.process_time() - begun) / (AGENTS * PER_NODE)
    await root.close()
    for one in trees:
        await one.close()
    for server in servers:
        server.close()
    return min(times) / AGENTS, parsing


def _planning(jobs: Sequence[Job]) -> tuple[float, float, int]:
    """Seconds an event for reading logs and matching, for the cut; and of how many events."""
    events, read, cut = 0, 0.0, 0.0
    for job in jobs:
        begun = time.process_time()
        traffic = Traffic(job)
        read += time.process_time() - begun
        rank = job.ranks[0]
        begun = time.process_time()
        made = traffic.cut(rank, job.rank(rank).last_event // 2)
        cut += time.process_time() - begun
        events += sum(made.events.values())
        events += sum(job.rank(one).last_event - made.events[one] for one in job.ranks)
    return read / events, cut / events, events


def _seconds(value: float) -> str:
    if value < 1e-6:
        return f"{value * 1e9:.0f} ns"
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    if value < 1:
        return f"{value * 1e3:.0f} ms"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.0f} min"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main(names: Sequence[str]) -> int:
    per_agent, per_answer = asyncio.run(_fan_out())
    read, cut, events = _planning([open_job(name) for name in names])
    print("## Measured\n")
    _table(
        ("what", "here"),
        (
            ("an agent's part in a request and its answer, both ends", _seconds(per_agent)),
            ("reading one rank's answer, at each level", _seconds(per_answer)),
            (f"logs read and matched, an event (of {events:,})", _seconds(read)),
            ("a consistent cut, an event", _seconds(cut)),
        ),
    )
    print("## A request to all ranks\n")
    rows = []
    for ranks in RANKS:
        nodes = max(ranks // PER_NODE, 1)
        levels = max(math.ceil(math.log(nodes * (FANOUT - 1) / FANOUT + 1, FANOUT)), 1)
        below = min(FANOUT, nodes)
        spent = levels * (below * per_agent + 2 * LATENCY_S)
        # the root reads each answer once, its children their share of them
        spent += ranks * per_answer * sum(FANOUT**-level for level in range(levels))
        rows.append((f"{ranks:,}", f"{nodes:,}", str(levels), _seconds(spent)))
    _table(("ranks", "nodes", "levels", "until all have answered"), rows)
    print("## Planning a restart\n")
    rows = []
    for ranks in RANKS:
        line = [f"{ranks:,}"]
        for each in (1_000, 10_000):
            line.append(_seconds(ranks * each * (read + cut)))
        line.append(_seconds(PER_NODE * 10_000 * read + ranks * 10_000 * cut))
        rows.append(tuple(line))
    _table(
        ("ranks", "1,000 events each", "10,000 each", "10,000 each, if each node read its own"),
        rows,
    )
    print("## A checkpoint of all\n")
    rows = []
    for ranks in RANKS:
        for image in IMAGE_BYTES:
            total = ranks * image
            line = [f"{ranks:,}", f"{image / 1e6:,.0f} MB", f"{total / 1e12:,.2f} TB"]
            line += [_seconds(total / bandwidth) for bandwidth in BANDWIDTHS]
            mtbf_s = MTBF_NODE_S / max(ranks // PER_NODE, 1)
            line.append(_seconds(math.sqrt(2 * total / BANDWIDTHS[1] * mtbf_s)))
            rows.append(tuple(line))
    _table(
        (
            *("ranks", "image of a rank", "all"),
            *(f"at {bandwidth / 1e9:,.0f} GB/s" for bandwidth in BANDWIDTHS),
            "interval (Young/Daly), at 100 GB/s",
        ),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
