"""Jobs of verbs and of sockets go on on hosts that have no disk in common.

They go on from a pack, on hosts that have none of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pingpongs
import pytest
from conftest import Build
from events import finalized

from cluster.disks import Disks, disks
from cluster.host import until
from rdb.errors import RdbError
from rdb.live.cut.consistent import Traffic
from rdb.recording import Job

pytestmark = pytest.mark.cluster
ROUNDS = 5
PORT = 20180


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Disks]:
    yield from disks(
        tmp_path_factory.mktemp("apart-live"),
        build,
        ("verbs_ring.c", "-O1", "-g", "-libverbs"),
        ("socket_ranks.c", "-O1"),
    )


def middle(job: Job) -> int:
    """An event of rank 0 where a cut can be, with something done and something to be done.

    Before it asks for its gate, if it has one.
    """
    traffic, rank = Traffic(job), job.rank(0)
    gates = (one for one in range(rank.last_event) if rank.describe(one).startswith("access("))
    last = next(gates, rank.last_event)
    for event in range(last // 2, last):
        try:
            cut = traffic.cut(0, event)
        except RdbError:  # inside a collective
            continue
        if not any(finalized(job, rank, at) for rank, at in cut.events.items()):
            return event
    raise AssertionError("no cut")


def from_its_pack(apart: Disks, name: str, again: str, *hosts: str) -> list[str]:
    """The command by which it goes on on these."""
    apart.rdb("pack", name, "-o", f"/tmp/{name}.rdb")
    options = ["--at", str(middle(apart.job(name))), "--name", again]
    options += ["--hosts", str(apart.host_file(f"{again}.hosts", *hosts))]
    return ["restart", f"/tmp/{name}.rdb", *options]


def goes_on(apart: Disks, name: str, again: str, *hosts: str) -> Counter[str]:
    """What it says there; the branch comes back to who asks for it."""
    done = apart.rdb(*from_its_pack(apart, name, again, *hosts))
    apart.rdb("attach", again, "-x", apart.host_file("nothing"))
    assert " agree" in apart.rdb("replay", again, "--verify").stdout
    return Counter(done.stdout.splitlines())


def test_verbs_and_mpi_with_a_debugger_attached(apart: Disks) -> None:
    """Each byte and number is verified by the program, before and after."""
    gate = apart.folder / "gate"
    gate.touch()
    words = [
        "--hosts",
        apart.host_file("two", "node3:1", "node4:2"),
        "--hca=soft",
        "--name",
        "ring",
    ]
    program = [apart.folder / "verbs_ring", str(ROUNDS), gate]
    said = Counter(apart.rdb("run", "-n", "3", *words, "--", *program).stdout.splitlines())
    gate.unlink()
    apart.rdb("attach", "ring", "-x", apart.host_file("nothing"))
    line = from_its_pack(apart, "ring", "onward", "node1:1", "node2:2")
    output = apart.folder / "onward.out"
    job = apart.head.start(*apart.command, *line, cwd="/tmp", env=apart.env, output=output)
    logs = [
        apart.disk(number) / f"onward/rank-{rank}/log-000000.seg"
        for rank, number in enumerate((1, 2, 2))
    ]
    until("all go on", lambda: job.poll() is not None or all(log.exists() for log in logs))
    assert job.poll() is None, output.read_text()
    script = apart.host_file("looks", "pause", "follow", "where", "print rank", "resume")
    shown = apart.rdb("attach", "onward", "-x", script).stdout
    assert "0-2: paused" in shown and all(f"$1 = {rank}" in shown for rank in range(3)), shown
    gate.touch()
    assert job.wait(90) == 0, output.read_text()
    lines = [line for line in output.read_text().splitlines() if line.startswith("rank ")]
    assert len(lines) == 3 and Counter(lines) <= said
    apart.rdb("attach", "onward", "-x", apart.host_file("nothing"))
    assert apart.ranks(0, "onward") == [0, 1, 2]


def test_a_pingpong_and_its_branch(apart: Disks) -> None:
    """Its side channel is a socket; without MPI."""
    words = pingpongs.pingpong("rc", PORT)
    line = pingpongs.job_line(apart.command, "rc", "soft", words, PORT)
    done = apart.head.run(*line, cwd="/tmp", env=apart.env)
    pingpongs.check(done.stdout)
    for name, again, hosts in (("rc", "rc-2", ("node1", "node4")), ("rc-2", "rc-3", ("node2:2",))):
        said = goes_on(apart, name, again, *hosts)
        pingpongs.check("\n".join(said.elements()))


def test_sockets(apart: Disks) -> None:
    """Rank 1 is connected by a path, so it stays with rank 0."""
    words = ["--name", "talk", "--", apart.folder / "socket_ranks", "80"]
    said = Counter(apart.rdb("run", "-n", "3", *words).stdout.splitlines())
    again = goes_on(apart, "talk", "talk-2", "node1:2", "node2:1")
    assert again and again <= said
    assert [apart.ranks(number, "talk-2") for number in (1, 2)] == [[0, 1], [2]]
    doors = (apart.disk(1) / "talk-2/doors-0").read_text()
    assert re.findall(r"^door \d+ (.*)$", doors, re.M) == [apart.nodes[0].address]
