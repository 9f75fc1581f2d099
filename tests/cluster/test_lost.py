"""Hosts that are lost, commands that are killed: what is complete stays, nothing half offered."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build

from cluster.conftest import HOSTS, Cluster, made
from cluster.host import until
from cluster.live_job import LiveJob
from cluster.ssh import ssh_hosts
from rdb.recording import open_job

pytestmark = pytest.mark.cluster


@pytest.fixture
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of one's own, of which hosts may be lost."""
    folder = tmp_path_factory.mktemp("doomed")
    for hosts in made(lambda: ssh_hosts(HOSTS, folder, [tmp_path_factory.getbasetemp()])):
        yield Cluster(hosts, folder)


def live_job(cluster: Cluster, build: Build, name: str = "live") -> LiveJob:
    hosts = cluster.host_file("nodes", "node[1-4]")
    line = ["run", "-n", "4", "--hosts", hosts, "--name", name, "--", build("mpi/live.c", "-O0")]
    return LiveJob(cluster, cluster.folder / "home", [*cluster.command, *line], name)


def goes_on(live: LiveJob, name: str, at: str, hosts: Path) -> None:
    """From there, on those hosts, to its end."""
    live.stop.touch()
    options = ("--at", at, "--launcher", "ssh", "--hosts", hosts, "--name", name)
    done = live.rdb("restart", live.name, *options)
    assert done.returncode == 0, done.stderr
    branch = open_job(live.home / name)
    assert [rank.state for rank in branch.all_ranks()] == ["exited 0"] * 4


def stand_still(cluster: Cluster, live: LiveJob, number: int) -> None:
    """A rank that comes to no event: a checkpoint of all waits for it, and so do the others."""
    pid = live.job.rank(number).meta["pid"]  # as its own host numbers it
    done = cluster.nodes[number].run("kill", "-STOP", str(pid))
    assert done.returncode == 0, done.stderr


def images(live: LiveJob) -> set[tuple[int, int]]:
    return {(rank.rank, number) for rank in live.job.all_ranks() for number, _ in rank.checkpoints}


def test_a_host_lost_during_checkpoints(doomed: Cluster, build: Build) -> None:
    with live_job(doomed, build) as live:
        first = live.rdb("checkpoint", "live", "--timeout", "60")
        assert first.returncode == 0, first.stderr
        complete = images(live)
        stand_still(doomed, live, 3)
        said = doomed.folder / "checkpoint"
        asks = doomed.head.start(
            *(*doomed.command, "checkpoint", "live", "--timeout", "60"), env=live.env, output=said
        )
        until(
            "its agent",
            lambda: "rdb-python agent" in doomed.nodes[3].run("ps", "-eo", "args").stdout,
        )
        doomed.nodes[3].lose()
        assert live.process is not None
        live.process.wait(90)  # mpirun ends a job that has lost a rank
        assert asks.wait(90) == 1, said.read_text()
        assert "Traceback" not in said.read_text() and "internal error" not in said.read_text()
        assert "node4" in said.read_text()
        assert complete <= images(live)
        verified = live.rdb("replay", "live", "--checkpoint", "all")
        assert verified.returncode == 0, verified.stderr
        shown = live.rdb("info", "live")
        assert "rdb: node4 does not answer" in shown.stderr and "open on node4" in shown.stdout
        goes_on(
            live, "after", "ckpt:1", doomed.host_file("left", "node1 slots=2", "node2:1", "node3:1")
        )


def test_a_host_lost_during_a_restart(doomed: Cluster, build: Build) -> None:
    with live_job(doomed, build) as live:
        assert live.end() == 0
        live.stop.unlink()
        hosts = doomed.host_file("four", "node[1-4] slots=1")
        output = doomed.folder / "restart"
        restart = doomed.head.start(
            *(*doomed.command, "restart", "live", "--at", "15", "--hosts", hosts),
            *("--name", "lost"),
            env=live.env,
            output=output,
        )
        lost = live.home / "lost"
        until("the branch begins", lambda: len(list(lost.glob("rank-*"))) == 4)
        doomed.nodes[2].lose()
        assert restart.wait(90) != 0
        assert "Traceback" not in output.read_text() and "internal error" not in output.read_text()
        listed = live.rdb("ls")
        if lost.exists():  # it had begun in all ranks: then it is a recording like any other
            assert "lost" in listed.stdout
            verified = live.rdb("replay", "lost", "--verify")
            assert verified.returncode == 0, verified.stderr
        goes_on(live, "after", "15", doomed.host_file("left", "node1:2", "node2:1", "node4:1"))


def test_a_checkpoint_command_that_is_killed(ssh: Cluster, build: Build) -> None:
    """The job goes on, no agent is left, and the next one works."""
    with live_job(ssh, build, "killed") as live:
        stand_still(ssh, live, 0)
        asks = ssh.head.start(*ssh.command, "checkpoint", "killed", env=live.env)
        until(
            "its agents", lambda: "rdb-python agent" in ssh.nodes[0].run("ps", "-eo", "args").stdout
        )
        # all of this host's processes of that name: there are no others in its namespace
        inside = ssh.head.run("pkill", "-KILL", "-f", "rdb checkpoint killed")
        assert inside.returncode == 0
        assert asks.wait(90) != 0
        for host in ssh.nodes:
            until(
                f"no agent on {host.name}",
                lambda host=host: "rdb-python agent" not in host.run("ps", "-eo", "args").stdout,
            )
        pid = live.job.rank(0).meta["pid"]
        assert ssh.nodes[0].run("kill", "-CONT", str(pid)).returncode == 0
        done = live.rdb("checkpoint", "killed", "--timeout", "60")
        assert done.returncode == 0 and done.stdout.count(": checkpoint ") == 4, done.stderr
        assert live.end() == 0
        verified = live.rdb("replay", "killed", "--checkpoint", "all")
        assert verified.returncode == 0, verified.stderr


def test_two_restarts_at_once(ssh: Cluster, build: Build) -> None:
    """Of the same name only one; with names of their own both."""
    with live_job(ssh, build, "twice") as live:
        assert live.end() == 0
    line = [*ssh.command, "restart", "twice", "--at", "15", "--launcher", "ssh"]
    line += ["--hosts", str(ssh.host_file("two", "node1:2", "node3:2"))]

    def both(*names: str) -> list[tuple[int, str]]:
        outputs = [ssh.folder / f"restart-{number}-{name}" for number, name in enumerate(names)]
        started: list[subprocess.Popen[str]] = [
            ssh.head.start(*line, "--name", name, env=live.env, output=output)
            for name, output in zip(names, outputs, strict=True)
        ]
        return [
            (one.wait(90), output.read_text()) for one, output in zip(started, outputs, strict=True)
        ]

    same = sorted(both("one", "one"))
    assert [code for code, _ in same] == [0, 2], same
    assert "there is a job one already" in same[1][1]
    for code, said in both("this", "that"):
        assert code == 0, said
    for name in ("one", "this", "that"):
        job = open_job(live.home / name)
        assert [rank.state for rank in job.all_ranks()] == ["exited 0"] * 4
