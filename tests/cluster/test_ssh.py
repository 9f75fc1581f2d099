"""Jobs on four hosts reached by ssh, with $RDB_HOME in a file system that all of them see."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Build

from cluster.conftest import Cluster
from rdb.recording import Job, open_job

pytestmark = pytest.mark.cluster
RANKS = 4


class Recorded:
    """A job with a rank on each host, and what it printed."""

    def __init__(self, ssh: Cluster, program: Path) -> None:
        self.ssh = ssh
        self.env = {"RDB_HOME": str(ssh.folder / "home")}
        self.hosts = ssh.host_file("hosts", "node[1-4]")
        done = self.rdb("run", "-n", "4", "--hosts", self.hosts, "--name", "job", "--", program)
        assert done.returncode == 0, done.stderr
        self.said = sorted(done.stdout.split())

    def rdb(self, *words: str | Path):  # type: ignore[no-untyped-def]
        return self.ssh.head.rdb(*words, env=self.env)

    def job(self, name: str) -> Job:
        return open_job(self.ssh.folder / "home" / name)

    def placed(self, name: str) -> list[str]:
        job = self.job(name)
        return [str(job.rank(rank).meta["host"]) for rank in job.ranks]


@pytest.fixture(scope="module")
def recorded(ssh: Cluster, build: Build) -> Recorded:
    return Recorded(ssh, build("mpi/restarted.c"))


def test_a_rank_on_each_host_replayed_elsewhere(recorded: Recorded) -> None:
    assert recorded.placed("job") == ["node1", "node2", "node3", "node4"]
    verified = recorded.rdb("replay", "job", "--verify")
    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.count("agree") >= RANKS


def test_the_launchers_own_command_line(recorded: Recorded, build: Build) -> None:
    """`mpirun --hostfile F rdb exec`: the ranks of all hosts find their job by the launch."""
    hosts = recorded.ssh.host_file("open-mpi", *(f"node{one} slots=1" for one in range(1, 5)))
    rdb = recorded.ssh.command
    line = ["mpirun", "--hostfile", str(hosts), "-n", "4", "-x", "RDB_HOME", *rdb]
    program = build("mpi/ring.c")
    done = recorded.ssh.head.run(*line, "exec", "--name", "ring", "--", program, env=recorded.env)
    assert done.returncode == 0, done.stderr
    assert recorded.placed("ring") == ["node1", "node2", "node3", "node4"]


@pytest.mark.parametrize("again", range(3))
def test_mpich(recorded: Recorded, build: Build, again: int) -> None:
    """Over TCP: there without rdb its MPI_Finalize waits for ever in every other run or so."""
    hosts = recorded.ssh.host_file("mpich", *(f"node{one}:1" for one in range(1, 5)))
    line = ["mpirun.mpich", "-f", str(hosts), "-n", "4", *recorded.ssh.command]
    program, name = build("mpi/restarted.c"), f"hydra-{again}"
    done = recorded.ssh.head.run(*line, "exec", "--name", name, "--", program, env=recorded.env)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == recorded.said
    assert recorded.placed(name) == ["node1", "node2", "node3", "node4"]


@pytest.mark.parametrize(
    ("lines", "placed"),
    [
        (("node2 slots=2", "node4:2"), ["node2", "node2", "node4", "node4"]),
        (("node3 slots=4",), ["node3"] * RANKS),
    ],
    ids=["2x2", "1x4"],
)
def test_restart_in_another_shape(
    recorded: Recorded, lines: tuple[str, ...], placed: list[str]
) -> None:
    hosts = recorded.ssh.host_file("shape", *lines)
    name = f"shape-{len(lines)}"
    options = ("--at", "100", "--launcher", "ssh", "--name", name, "--mpi", "openmpi")
    done = recorded.rdb("restart", "job", "--hosts", hosts, *options)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == recorded.said
    assert recorded.placed(name) == placed
    verified = recorded.rdb("replay", name, "--verify")
    assert verified.returncode == 0, verified.stderr


def test_the_order_of_messages_expanded_elsewhere(recorded: Recorded, build: Build) -> None:
    """What was recorded on four hosts, on two of them, and by this host alone."""
    options = ("--hosts", recorded.hosts, "--record=order", "--hash-every", "1", "--name")
    program = build("mpi/payloads.c", "-O1")
    fewer = recorded.ssh.host_file("fewer", "node2 slots=2", "node4:2")
    for name, hosts in (("order", ("--hosts", fewer, "--launcher", "ssh")), ("order-here", ())):
        done = recorded.rdb("run", "-n", "4", *options, name, "--", program)
        assert done.returncode == 0, done.stderr
        assert recorded.placed(name) == ["node1", "node2", "node3", "node4"]
        expanded = recorded.rdb("expand", name, *hosts)
        assert expanded.returncode == 0, expanded.stderr
        assert "a replay of all ranks regenerated" in expanded.stderr
        verified = recorded.rdb("replay", name)
        assert verified.returncode == 0, verified.stderr
        assert verified.stdout.count("agree") == RANKS


def test_too_few_hosts(recorded: Recorded) -> None:
    hosts = recorded.ssh.host_file("few", "node1 slots=2", "node2 slots=1")
    done = recorded.rdb("restart", "job", "--at", "100", "--hosts", hosts, "--name", "none")
    assert done.returncode == 2
    assert "2 hosts with room for 3 ranks, the job has 4" in done.stderr
    assert not (recorded.ssh.folder / "home" / "none").exists()


def test_a_host_that_is_not_there(recorded: Recorded) -> None:
    """mpirun says what is wrong; no branch is left."""
    hosts = recorded.ssh.host_file("gone", "node1 slots=3", "nowhere slots=1")
    done = recorded.rdb("restart", "job", "--at", "100", "--hosts", hosts, "--name", "gone")
    assert done.returncode != 0
    assert "nowhere" in done.stderr
    assert not (recorded.ssh.folder / "home" / "gone").exists()
