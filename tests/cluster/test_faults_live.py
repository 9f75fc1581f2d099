"""What goes wrong at checkpoints and restarts, but for lost hosts (test_lost.py).

One line says what, the last complete checkpoint stays, nothing half-written is offered, no half of
a branch is left.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Build

from cluster.conftest import Cluster
from cluster.host import until
from cluster.live_job import LiveJob
from cluster.test_lost import goes_on, images, live_job
from rdb.live.cut.consistent import Traffic
from rdb.recording import Job, open_job

pytestmark = pytest.mark.cluster

# Stops the process that writes an image when it has just been forked, or comes too late for it.
_STOPPED = """
import os, signal, sys
pid, image = sys.argv[1:]
while not os.path.exists(image):
    for task in os.listdir(f"/proc/{pid}/task"):
        for child in open(f"/proc/{pid}/task/{task}/children").read().split():
            os.kill(int(child), signal.SIGSTOP)
            print(child)
            sys.exit()
"""


class Done:
    """A job with a rank on each host that has ended; what it printed."""

    def __init__(
        self,
        ssh: Cluster,
        name: str,
        program: Path,
        *arguments: str,
        hosts: str = "node[1-4]",
        mpi: str = "openmpi",
    ) -> None:
        self.ssh, self.name = ssh, name
        self.home = ssh.folder / "home"
        self.hosts = ssh.host_file(f"{name}.hosts", hosts)
        line = ("run", "-n", "4", "--hosts", self.hosts, "--mpi", mpi, "--name", name, "--")
        done = self.rdb(*line, program, *arguments)
        assert done.returncode == 0, done.stderr
        self.said = sorted(done.stdout.splitlines())

    def rdb(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return self.ssh.head.rdb(*words, env={"RDB_HOME": str(self.home)})

    def restart(
        self, at: int, *options: str | Path, job: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        where = ("--launcher", "ssh", "--hosts", self.ssh.host_file("two", "node2:2", "node3:2"))
        line = ("restart", job or self.name, "--at", str(at), "--name", "branch")
        return self.rdb(*line, *where, *options)

    def refused(self, done: subprocess.CompletedProcess[str], why: str) -> None:
        assert done.returncode != 0
        assert why in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr
        assert not (self.home / "branch").exists()

    @property
    def job(self) -> Job:
        return open_job(self.home / self.name)


@pytest.fixture(scope="module")
def done(ssh: Cluster, build: Build) -> Done:
    return Done(ssh, "done", build("mpi/restarted.c"))


def test_a_rank_killed_during_its_checkpoint(ssh: Cluster, build: Build) -> None:
    with live_job(ssh, build, "torn") as live:
        rank, node = live.job.rank(2), ssh.nodes[2]
        pid = str(rank.meta["pid"])
        writer, number = "", 0
        while not writer:  # one that is not stopped before its image is whole is let go
            complete = images(live)
            number += 1
            said = ssh.folder / f"torn-{number}"
            line = [*ssh.command, "checkpoint", "torn", "--timeout", "60"]
            asks = ssh.head.start(*line, env=live.env, output=said)
            image = rank.path / f"ckpt-{number:06}.img"
            child = node.run("/usr/bin/python3", "-c", _STOPPED, pid, image).stdout.strip()
            if image.exists():
                if child:
                    node.run("kill", "-CONT", child)
                assert asks.wait(90) == 0, said.read_text()
            else:
                writer = child
        assert node.run("kill", "-KILL", pid, writer).returncode == 0
        assert live.process is not None
        assert live.process.wait(90) != 0  # mpirun ends a job that has lost a rank
        assert asks.wait(90) == 1
        assert "rank 2" in said.read_text() and "Traceback" not in said.read_text()
        after = images(live)
        assert complete <= after and (2, number) not in after
        assert sorted(path.name for path in rank.path.glob("*ckpt*")) == [
            f"ckpt-{one:06}.img" for one in range(number)
        ]
        verified = live.rdb("replay", "torn", "--checkpoint", "all")
        assert verified.returncode == 0, verified.stderr
        goes_on(live, "torn-on", "ckpt:0", ssh.host_file("left", "node1:2", "node4:2"))
        goes_on(live, "torn-end", "end", ssh.host_file("left", "node1:2", "node4:2"))


@pytest.fixture
def led(ssh: Cluster, build: Build) -> LiveJob:
    """A job that has ended."""
    name = f"led-{len(list((ssh.folder / 'home').glob('led-?')))}"
    with live_job(ssh, build, name) as live:
        assert live.end() == 0
    live.stop.unlink()
    return live


@pytest.mark.parametrize("who", ["rdb restart", "mpirun"])
def test_who_coordinates_a_restart_is_killed(ssh: Cluster, led: LiveJob, who: str) -> None:
    name, output = f"{led.name}-branch", ssh.folder / f"{led.name}.restart"
    hosts = ssh.host_file("four", "node[1-4] slots=1")
    line = [*ssh.command, "restart", led.name, "--at", "15", "--name", name]
    restart = ssh.head.start(*line, "--hosts", hosts, env=led.env, output=output)
    until("the branch runs", lambda: output.read_text().count(" turn ") > 20)
    # what it is called by on the head, where no rank runs
    pattern = f"rdb restart {led.name} " if who == "rdb restart" else f"exec --restart .*/{name}$"
    assert ssh.head.run("pkill", "-KILL", "-f", pattern).returncode == 0
    assert restart.wait(90) != 0
    branch = led.home / name
    if who == "rdb restart":  # the job goes on without it
        seen = output.read_text().count(" turn ")
        until("it goes on", lambda: output.read_text().count(" turn ") > seen + 20)
        led.stop.touch()
    until(
        "its ranks have ended",
        lambda: all(name not in host.run("ps", "-eo", "args").stdout for host in ssh.hosts),
    )
    if who == "rdb restart":
        assert [rank.state for rank in open_job(branch).all_ranks()] == ["exited 0"] * 4
    verified = led.rdb("replay", name, "--verify")
    assert verified.returncode == 0, verified.stderr
    goes_on(led, f"{name}-again", "15", ssh.host_file("two", "node2:2", "node3:2"))
    goes_on_from_the_branch = led.rdb("restart", name, "--plan")
    if who == "mpirun":  # it was killed, and can go on from where it was
        assert goes_on_from_the_branch.returncode == 0, goes_on_from_the_branch.stderr


def test_an_altered_image(done: Done) -> None:
    shutil.copytree(done.home / "done", done.home / "altered")
    image = done.home / "altered" / "rank-1" / "ckpt-000000.img"
    data = bytearray(image.read_bytes())
    at = len(data) // 2 & ~4095
    data[at : at + 4096] = bytes(byte ^ 1 for byte in data[at : at + 4096])
    image.write_bytes(data)
    done.refused(done.restart(50, job="altered"), "ckpt-000000.img: damaged")


def test_a_missing_image(done: Done) -> None:
    shutil.copytree(done.home / "done", done.home / "missing")
    (done.home / "missing" / "rank-1" / "ckpt-000000.img").unlink()
    done.refused(done.restart(50, job="missing"), "rank-1/ckpt-000000.img is missing")


def after_the_barrier(job: Job) -> int:
    rank = job.rank(0)
    return next(
        event for event in range(rank.last_event) if rank.describe(event).startswith("MPI_Barrier")
    )


def test_an_mpi_that_lacks_a_datatype(ssh: Cluster, build: Build) -> None:
    lacks = Done(ssh, "lacks", build("mpi/by_host.c"), "logical", hosts="node1 slots=4")
    at = after_the_barrier(lacks.job)
    lacks.refused(lacks.restart(at, "--mpi", "mpich"), "over mpich")
    same = lacks.restart(at, "--mpi", "openmpi")
    assert same.returncode == 0, same.stderr
    assert sorted(same.stdout.splitlines()) == lacks.said
    shutil.rmtree(lacks.home / "branch")


def has_said(shared: Done, rank: int) -> bool:
    """Had that rank printed its line in the branch by where the branch of that began?"""
    until = open_job(shared.home / "again").meta["parent"]["cut"][str(rank)]
    branch = open_job(shared.home / "branch").rank(rank)
    return any(branch.describe(event).startswith("write(1,") for event in range(1, until + 1))


def test_ranks_that_shared_a_host_stay_together(ssh: Cluster, build: Build) -> None:
    """A communicator of a host's ranks has them still, wherever they are now."""
    shared = Done(ssh, "shared", build("mpi/by_host.c"), hosts="node[1-2] slots=2")
    assert shared.said[:2] == ["rank 0: 2 on its host, sum 1", "rank 1: 2 on its host, sum 1"]
    at = after_the_barrier(shared.job)
    for mpi, lines in (("openmpi", ["node3:4"]), ("mpich", ["node4:1", "node1:3"])):
        hosts = ssh.host_file("shape", *lines)
        done = shared.restart(at, "--mpi", mpi, "--hosts", hosts)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == shared.said
        # a branch of the branch, in the first shape
        again = shared.restart(0, "--name", "again", job="branch")
        assert again.returncode == 0, again.stderr
        left = [f"rank {rank}: " for rank in shared.job.ranks if not has_said(shared, rank)]
        assert left and sorted(again.stdout.splitlines()) == [
            line for line in shared.said if line.startswith(tuple(left))
        ]
        for name in ("branch", "again"):
            shutil.rmtree(shared.home / name)


def test_a_cut_that_would_be_inconsistent(ssh: Cluster, build: Build) -> None:
    """An event is not moved: it is refused, and what is next to it is said."""
    done = Done(ssh, "epochs", build("mpi/restarted_windows.c"), mpi="mpich")
    traffic = Traffic(done.job)
    last = done.job.rank(1).last_event
    event, near = next(
        (event, near) for event in range(1, last) if (near := traffic.settled(1, event)) > event
    )
    refused = done.restart(event, "--rank", "1")
    done.refused(refused, "in a collective, a window's epoch or an RDMA")
    assert f"try --at {near}" in refused.stderr
    planned = done.restart(near, "--rank", "1", "--plan")
    assert planned.returncode == 0, planned.stderr
    assert "checked: no message is received before it is sent" in planned.stdout
    assert planned.stdout.splitlines()[-2:] == ["node2: ranks 0-1", "node3: ranks 2-3"]
