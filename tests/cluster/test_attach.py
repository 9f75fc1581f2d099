"""Jobs that run on several hosts, reached through an agent on each: by ssh and under Slurm."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest
from conftest import Build

from cluster.conftest import Cluster
from cluster.live_job import LiveJob

pytestmark = pytest.mark.cluster
_MUNGE = "from rdb.wire import munge"


@pytest.fixture(scope="module")
def by_ssh(ssh: Cluster, build: Build) -> Iterator[LiveJob]:
    hosts = ssh.host_file("nodes", "node[1-4]")
    program = build("mpi/live.c", "-O0")
    line = ["run", "-n", "4", "--hosts", hosts, "--name", "live", "--", program]
    with LiveJob(ssh, ssh.folder / "home", [*ssh.command, *line]) as job:
        yield job
        assert job.end() == 0, job.said()


@pytest.fixture(scope="module")
def by_srun(slurm: Cluster, build: Build) -> Iterator[LiveJob]:
    program = build("mpi/live.c", "-O0")
    line = ["srun", "-N4", "-n4", "--mpi=pmix", *slurm.command]
    line += ["exec", "--name", "live", "--", str(program)]
    with LiveJob(slurm, slurm.folder / "home", line) as job:
        yield job
        assert job.end() == 0, job.said()


@pytest.fixture(params=["by_ssh", "by_srun"])
def live(request: pytest.FixtureRequest) -> LiveJob:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, LiveJob)
    return found


def test_the_state_of_each_rank(live: LiveJob) -> None:
    shown = live.rdb("info", "live")
    assert shown.returncode == 0, shown.stderr
    for rank, host in enumerate(live.cluster.nodes):
        assert re.search(rf"^{rank} +running .* {host.name} ", shown.stdout, re.M), shown.stdout


def test_a_checkpoint_of_all(live: LiveJob) -> None:
    """Of one whose ranks may be in each host's own time; a restart goes on from there."""
    asked = live.rdb("checkpoint", "live", "--timeout", "60")
    assert asked.returncode == 0, asked.stderr
    assert re.findall(r"^rank (\d): checkpoint [1-9]\d* at event \d+$", asked.stdout, re.M) == [
        "0",
        "1",
        "2",
        "3",
    ]


def test_attach_pause_follow_resume(live: LiveJob) -> None:
    said = live.console("pause", "follow", "where", "resume")
    assert "0-3: paused" in said
    assert "(end of the recording)" in said
    assert "main () at live.c" in said
    assert "0-3: running" in said


def test_what_a_session_paused_goes_on_when_it_is_over(live: LiveJob) -> None:
    assert "0-3: paused" in live.console("pause")
    shown = live.rdb("info", "live")
    assert shown.stdout.count(" running ") == 4, shown.stdout


def test_no_agent_is_left(live: LiveJob) -> None:
    live.rdb("info", "live")
    for host in live.cluster.hosts:
        processes = host.run("ps", "-eo", "args").stdout
        assert "rdb-python agent" not in processes, f"{host.name}: {processes}"


def test_munge_brings_the_key_to_agents(by_srun: LiveJob) -> None:
    """They need not read the file; nobody else can open what brings it, nor anybody twice."""
    key = by_srun.home / "live" / "agents.pem"
    by_srun.rdb("info", "live")
    assert key.exists()
    node, other = by_srun.cluster.nodes[1:3]
    assert node.run("mount", "--bind", "/dev/null", key).returncode == 0
    try:
        shown = by_srun.rdb("info", "live")
        assert shown.stdout.count(" running ") == 4, shown.stdout + shown.stderr
    finally:
        assert node.run("umount", key).returncode == 0
    sealed = f"{_MUNGE}; print(munge.sealed(bytes(range(32))))"
    credential = by_srun.cluster.head.run(sys.executable, "-c", sealed).stdout.strip()
    opened = [sys.executable, "-c", f"{_MUNGE}; print(munge.opened({credential!r}).hex())"]
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    stranger = other.run(*nobody, "unmunge", stdin=credential)
    assert stranger.returncode != 0 and bytes(range(32)).hex() not in stranger.stdout
    assert node.run(*opened).stdout.strip() == bytes(range(32)).hex()
    again = node.run(*opened)
    assert again.returncode != 0 and "Replayed credential" in again.stderr, again.stderr
